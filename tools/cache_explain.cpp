// cubinet cache explain: why a look-up hits or misses.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cubinet/cubinet.hpp"
#include "jit/accepted_compilers.hpp"
#include "jit/families/registry.hpp"
#include "jit/kernel_facts.hpp"
#include "jit/record.hpp"
#include "tools/cache_command.hpp"
#include "tools/cache_text.hpp"
#include "tools/command_line.hpp"
#include "tools/output.hpp"
#include "tools/request.hpp"
#include "tools/toolchain.hpp"
#include "warmup/campaign/explain.hpp"
#include "warmup/campaign/local_device.hpp"

namespace cubinet::tools {
namespace {

constexpr const char* explain_help =
    "With one key: what the entry is, and whether this build would look it up.\n"
    "With two keys: the fields in which their records differ. With a problem, as for `cubinet plan`: for\n"
    "each kernel whether a look-up hits, in the cabinet or in a layer of CUBINET_CACHE_PATH, and if not,\n"
    "why. What an engine would ignore is ignored and named: a missing folder, a bundle without a valid\n"
    "signature for CUBINET_BUNDLE_KEY. Nothing is compiled, and no file is moved.\n\n"
    "Examples:\n"
    "  cubinet cache explain 3f9a01c2\n"
    "  cubinet cache explain 3f9a01c2 77d0be11\n"
    "  cubinet cache explain --shape 4096,7168,8 --m 300\n\n"
    "With --json, for keys:\n"
    "  entries       the one or two entries {key, compiler, family, n, k, config}\n"
    "  wanted        the key that this build looks up instead; null: none, because this build does not\n"
    "                have the family or its constants\n"
    "  current       true: this build looks up the same key\n"
    "  wanted_state  state of the wanted key, see below\n"
    "  differences   {field, first, second} of the records, as JSON texts; empty: no such field.\n"
    "                second is the other entry's record, or the one that this build would write\n"
    "For a problem:\n"
    "  nvrtc         the version that this build prefers; a look-up takes any\n"
    "  searched      the cabinet and the layers that could be opened, in order of search\n"
    "  hits, misses  number of kernels\n"
    "  kernels       {key, family, n, k, config, state, where, compiler (empty: none), accepted (this\n"
    "                build was tested with it), why, nearest, differences}. state is hit; unusable (its\n"
    "                compiler is too new for the driver here); damaged; unreadable; set aside (it was\n"
    "                damaged, and moved to quarantine/); evicted (to keep within limits); stale (the\n"
    "                same kernel of other templates or of an earlier build); or absent. where is the\n"
    "                place of a hit; nearest is the key of the most similar entry\n";

struct ExplainOptions {
  std::vector<std::string> keys;
  RequestOptions request;
  std::int64_t m = 0;  // 0: the range of M of the request
  std::vector<Option> of_problem;
};

// A record's value as a table cell: digests and long texts are cut.
std::string cell(const std::string& json) {
  constexpr std::size_t widest = 40;
  std::string text = one_line(json);
  if (text.size() > widest) text = text.substr(0, shown_digits + 1) + "...";
  return text.empty() ? "-" : text;
}

Json differences_array(const std::vector<jit::Difference>& differences) {
  Json array = Json::array();
  for (const auto& one : differences) {
    array.push_back({{"field", one.field}, {"first", one.first}, {"second", one.second}});
  }
  return array;
}

void print_differences(const std::vector<jit::Difference>& differences, const char* first, const char* second) {
  Table table({"FIELD", first, second});
  for (const auto& one : differences) table.add({one.field, cell(one.first), cell(one.second)});
  if (!differences.empty()) print(table.text());
}

Json entry_name(const cache::Entry& entry) {
  const jit::KernelFacts kernel = jit::kernel_facts(entry.facts);
  return Json{{"key", entry.key.hex()}, {"compiler", entry.facts.compiler}, {"family", kernel.family}, {"n", kernel.n},
              {"k", kernel.k},          {"config", kernel.config}};
}

std::string entry_text(const cache::Entry& entry) {
  const jit::KernelFacts kernel = jit::kernel_facts(entry.facts);
  return fmt::format("{}  {} N={} K={} {}{}", entry.key.hex().substr(0, shown_digits), short_text(kernel.family),
                     size_text(kernel.n), size_text(kernel.k), config_text(kernel.config),
                     entry.facts.compiler.empty() ? "" : ", made by " + short_text(entry.facts.compiler));
}

int explain_two(const CacheOptions& options, const cache::Entry& first, const cache::Entry& second) {
  const auto differences = jit::differences(first.record, second.record);
  if (options.json) {
    print_object(
        Json{{"entries", {entry_name(first), entry_name(second)}}, {"differences", differences_array(differences)}});
    return exit_done;
  }
  print(fmt::format("{}\n{}\n", entry_text(first), entry_text(second)));
  if (differences.empty()) print("the records are the same\n");
  print_differences(differences, "FIRST", "SECOND");
  return exit_done;
}

// The cabinet and the layers that an engine in this environment would search. Those that cannot be opened are left out,
// as in an engine.
struct Searched {
  explicit Searched(const std::string& root) {
    add(open_cabinet(root));
    const ServiceOptions environment = ServiceOptions::from_environment();
    for (const std::string& layer : environment.layers) {
      add(cache::Cabinet::open_stack({}, false, {layer}, {.bundle_key = environment.bundle_key})
              .map([](const cache::OpenedCabinet& opened) { return cache::Maintenance(opened.cabinet); }));
    }
  }
  void add(Expected<cache::Maintenance> opened) {
    if (!opened) return problems.push_back(std::move(opened.error()));
    cabinets.push_back(std::move(*opened));
  }
  void tell_problems() const {
    for (const Error& problem : problems) note(problem.message);
  }
  std::vector<cache::Maintenance> cabinets;
  std::vector<Error> problems;            // why the others could not be opened
  int driver = warmup::driver_version();  // 0: none, so that every kernel counts as loadable
};

// The kernel that this build looks up in place of an entry.
struct Successor {
  warmup::Explanation explanation;
  std::vector<jit::Difference> differences;  // `second` is this build's record
};

std::optional<Successor> successor_of(const cache::Entry& entry, const std::string& root) {
  const auto spec = jit::families().spec_of(entry.record);
  if (!spec) return std::nullopt;
  const Searched searched(root);
  searched.tell_problems();
  return Successor{warmup::Explainer(searched.cabinets, searched.driver).explain(*spec),
                   jit::differences(entry.record, jit::record_of(*spec))};
}

void print_successor(const std::optional<Successor>& successor) {
  if (!successor) {
    print("this build looks up no such kernel: it does not have the family, or not these constants\n");
  } else if (successor->differences.empty()) {
    print("this build looks up this entry\n");
  } else {
    print(fmt::format(
        "this build looks up {} instead ({}): {}\n", successor->explanation.key.hex().substr(0, shown_digits),
        warmup::name(successor->explanation.presence), one_line(warmup::describe(successor->differences))));
    print_differences(successor->differences, "ENTRY", "THIS BUILD");
  }
}

int explain_one(const CacheOptions& options, const cache::Entry& entry, const std::string& root) {
  const auto successor = successor_of(entry, root);
  if (!options.json) {
    print(entry_text(entry) + "\n");
    print_successor(successor);
    return exit_done;
  }
  print_object(
      Json{{"entries", {entry_name(entry)}},
           {"wanted", successor ? Json(successor->explanation.key.hex()) : Json()},
           {"current", successor && successor->differences.empty()},
           {"wanted_state", successor ? Json(warmup::name(successor->explanation.presence)) : Json()},
           {"differences", differences_array(successor ? successor->differences : std::vector<jit::Difference>())}});
  return exit_done;
}

int explain_keys(const CacheOptions& options, const std::vector<std::string>& keys, const std::string& root) {
  auto cabinet = open_cabinet(root);
  if (!cabinet) return report_error(cabinet.error(), options.json, exit_failed);
  std::vector<cache::Entry> entries;
  for (const std::string& key : keys) {
    auto found = find_one(key, *cabinet);
    if (!found) return report_error(found.error(), options.json, exit_failed);
    entries.push_back(std::move(found->entries.front()));
  }
  return entries.size() == 2 ? explain_two(options, entries[0], entries[1]) : explain_one(options, entries[0], root);
}

Json kernel_object(const jit::KernelSpec& spec, const warmup::Explanation& explanation) {
  const auto& nearest = explanation.nearest;
  return Json{{"key", explanation.key.hex()},
              {"family", spec.family_name()},
              {"n", spec.n},
              {"k", spec.k},
              {"config", spec.config},
              {"state", warmup::name(explanation.presence)},
              {"where", explanation.where},
              {"compiler", explanation.compiler},
              {"accepted", explanation.accepted},
              {"why", explanation.why},
              {"nearest", nearest ? Json(nearest->entry.key.hex()) : Json()},
              {"differences", differences_array(nearest ? nearest->differences : std::vector<jit::Difference>())}};
}

// "/opt/kernels, made by NVRTC 13.0.88".
std::string hit_text(const warmup::Explanation& explanation) {
  const std::string maker = explanation.compiler.empty() ? "an unknown compiler" : explanation.compiler;
  const char* const remark = explanation.accepted ? "" : ", which this build was not tested with";
  return fmt::format("{}, made by {}{}", explanation.where, maker, remark);
}

void print_kernel(const jit::KernelSpec& spec, const warmup::Explanation& explanation) {
  const std::string detail = explanation.presence == warmup::Presence::hit ? hit_text(explanation) : explanation.why;
  print(fmt::format("{}  {}\n  {}: {}\n", explanation.key.hex().substr(0, shown_digits), jit::describe(spec),
                    warmup::name(explanation.presence), one_line(detail)));
  if (explanation.nearest) print(fmt::format("  nearest: {}\n", entry_text(explanation.nearest->entry)));
}

// The error of the root, with those of the layers as detail.
Error nothing_opened(const std::vector<Error>& problems) {
  Error error = problems.front();
  for (std::size_t i = 1; i < problems.size(); ++i) error.detail += one_line(problems[i].message) + '\n';
  return error;
}

int explain_plan(const CacheOptions& options, const warmup::Plan& plan, const std::string& root) {
  const Searched searched(root);
  if (searched.cabinets.empty()) return report_error(nothing_opened(searched.problems), options.json, exit_failed);
  searched.tell_problems();
  const warmup::Explainer explainer(searched.cabinets, searched.driver);
  std::size_t hits = 0;
  Json kernels = Json::array();
  for (const warmup::PlannedKernel& kernel : plan.kernels) {
    const auto explanation = explainer.explain(kernel.spec);
    if (explanation.presence == warmup::Presence::hit) ++hits;
    if (options.json) kernels.push_back(kernel_object(kernel.spec, explanation));
    if (!options.json) print_kernel(kernel.spec, explanation);
  }
  const std::size_t misses = plan.kernels.size() - hits;
  if (!options.json) {
    print(fmt::format("{} hits, {} misses\n", hits, misses));
    return exit_done;
  }
  Json places = Json::array();
  for (const cache::Maintenance& one : searched.cabinets) places.push_back(one.root().string());
  print_object(Json{{"nvrtc", jit::accepted_compilers().front()},
                    {"searched", std::move(places)},
                    {"hits", hits},
                    {"misses", misses},
                    {"kernels", std::move(kernels)}});
  return exit_done;
}

bool names_problem(const RequestOptions& request) {
  return !request.model.empty() || !request.shapes.empty() || request.recorded || request.generic_only;
}

int explain_kernels(const CacheOptions& options, const ExplainOptions& wanted, const std::string& root) {
  const auto refuse = [&](const Error& error) { return report_error(error, options.json, exit_usage); };
  const auto given = std::find_if(wanted.of_problem.begin(), wanted.of_problem.end(),
                                  [](const Option& option) { return option.given(); });
  if (!wanted.keys.empty() && given != wanted.of_problem.end()) {
    return refuse({ErrorCode::invalid_argument,
                   fmt::format("give keys or a problem, not both: {} has no effect with a key", given->name()),
                   {}});
  }
  if (!wanted.keys.empty()) return explain_keys(options, wanted.keys, root);
  if (!names_problem(wanted.request)) {
    return refuse(
        {ErrorCode::invalid_argument, "nothing to explain: give one key or two, --model, --shape or --recorded", {}});
  }
  RequestOptions request = wanted.request;
  if (wanted.m != 0) request.m_first = request.m_last = wanted.m;
  const auto resolved = resolve(request, root);
  if (!resolved) return refuse(resolved.error());
  const auto plan = warmup::make_plan(resolved->plan);
  if (!plan) return refuse(plan.error());
  for (const std::string& text : resolved->notes) note(text);
  return explain_plan(options, *plan, root);
}

}  // namespace

void add_cache_explain(Command cache) {
  const auto wanted = std::make_shared<ExplainOptions>();
  const auto action = [wanted](const CacheOptions& options, const std::string& root) {
    return explain_kernels(options, *wanted, root);
  };
  const Command command =
      add_root_command(cache, "explain", "Explain why a look-up hits or misses", explain_help, action);
  add_keys_argument(command, wanted->keys).described("One or two keys, or their first digits, at least 4").takes(0, 2);
  wanted->of_problem = add_request_options(command, wanted->request);
  wanted->of_problem.push_back(add_number(command, "--m", wanted->m, 1, largest_m(), "Only this M")
                                   .shown_default("")
                                   .excludes("--m-min")
                                   .excludes("--m-max"));
}

}  // namespace cubinet::tools
