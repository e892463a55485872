#include "warmup/planning/request.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "jit/families/registry.hpp"
#include "util/text.hpp"
#include "warmup/planning/engines/launched.hpp"
#include "warmup/planning/model_problems.hpp"
#include "warmup/planning/recorded_problems.hpp"

namespace cubinet::warmup {
namespace {

tl::unexpected<Error> refuse_request(std::string message) {
  return fail(ErrorCode::invalid_argument, std::move(message));
}

// The values of a comma-separated list, each once, in the order of the text. `parse` reads the names in `known`.
template <class Value, class Parse, class Table>
Expected<std::vector<Value>> parse_list(const char* option, const std::string& text, const Parse& parse,
                                        const Table& known) {
  std::vector<Value> values;
  if (text.empty()) return values;
  for (const std::string& part : util::split(text, ',')) {
    const std::optional<Value> found = parse(part);
    if (!found) {
      return refuse_request(
          fmt::format("{}: '{}' is neither {} nor {}", option, part, known.front().name, known.back().name));
    }
    if (std::find(values.begin(), values.end(), *found) == values.end()) values.push_back(*found);
  }
  return values;
}

std::int64_t bytes_of(DataType type) { return jit::element_bytes(jit::operands_of(type).a); }

// Each type once. The type with the stricter size rules comes first, so that all types take the padded size that an
// error proposes.
std::vector<DataType> in_order_of_rules(std::vector<DataType> types) {
  std::sort(types.begin(), types.end(), [](DataType a, DataType b) { return bytes_of(a) < bytes_of(b); });
  types.erase(std::unique(types.begin(), types.end()), types.end());
  return types;
}

std::vector<Layout> layouts_or_both(const std::vector<Layout>& layouts) {
  return layouts.empty() ? std::vector<Layout>{Layout::contiguous, Layout::masked} : layouts;
}

// An error if a kernel does not take the number of groups, which follows from the number of ranks.
Expected<void> check_groups(const MoeShape& shape, std::int64_t ranks, const std::vector<Problem>& problems,
                            const OptionNames& names) {
  for (const Problem& problem : problems) {
    const auto taken = jit::families().can_run(problem);
    if (taken) continue;
    return fail(taken.error().code, fmt::format("{} experts over {} {}: {}", shape.layers.front().experts.value,
                                                names.expert_parallel, ranks, taken.error().message));
  }
  return {};
}

std::string types_text(const std::vector<DataType>& types) {
  std::vector<std::string> names;
  for (const DataType type : types) names.emplace_back(jit::data_type_name(type));
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, " and "));
}

// A note for the user if no kernel of these types takes the weights as they are stored; else empty.
std::string remark_on(const ExpertWeights& weights, const std::vector<DataType>& types) {
  if (weights.stored.empty()) return {};
  const auto planned = [&](DataType type) { return std::find(types.begin(), types.end(), type) != types.end(); };
  if (weights.served && std::all_of(weights.types.begin(), weights.types.end(), planned)) return {};
  return fmt::format("the experts are stored as {} ({}){}; planning {} kernels of their shapes", weights.stored,
                     weights.reason, weights.served ? "" : ", which no kernel supports", types_text(types));
}

// The type of the operands as a derivation: the number of bits of an element.
Derivation derivation_of_type(DataType type, const std::string& reason) {
  return {"bits", 8 * bytes_of(type), fmt::format("{}: {}", jit::data_type_name(type), reason)};
}

// A request, and the values that replace its fields if there is a launch command.
struct Understood {
  const Request& request;
  OptionNames names;
  std::vector<Layout> layouts;
  std::vector<DataType> types;
  Parallelism parallelism;
  const engines::Launched* launched;  // null: no launch command is given
};

// Fills in the fields that the user did not give from the launch command's plan for the model.
Expected<Understood> as_launched(Understood wanted, const MoeShape& shape, ResolvedRequest& resolved) {
  if (wanted.launched == nullptr) return wanted;
  auto plan = engines::launch_plan(*wanted.launched, shape);
  if (!plan) return propagate(plan);
  wanted.parallelism = plan->parallelism;
  if (wanted.request.layout.empty()) wanted.layouts = plan->layouts;
  if (wanted.types.empty() && plan->type) wanted.types = {*plan->type};
  // Engines have other names for their numbers of ranks than Cubinet's options.
  wanted.names.expert_parallel = "expert ranks";
  wanted.names.tensor_parallel = "width ranks";
  resolved.notes = std::move(plan->notes);
  resolved.derivation = std::move(plan->derivation);
  return wanted;
}

// The problems of a model, in the types asked for, or if none are, in the types of its weights.
Expected<std::vector<Problem>> problems_of_shape(const MoeShape& shape, const Understood& wanted) {
  auto problems = problems_of(shape, wanted.parallelism, wanted.layouts, wanted.types, wanted.names);
  if (!problems) return problems;
  auto taken = check_groups(shape, wanted.parallelism.expert, *problems, wanted.names);
  if (!taken) return propagate(taken);
  return problems;
}

// Adds the derivation of the problems, and notes for the user about the model. `type_reason`: who chose the types.
void explain(const MoeShape& shape, const Understood& wanted, const std::string& type_reason,
             ResolvedRequest& resolved) {
  for (Derivation& line : derivation_of(shape, wanted.parallelism)) resolved.derivation.push_back(std::move(line));
  for (const DataType type : wanted.types) resolved.derivation.push_back(derivation_of_type(type, type_reason));
  const std::string& file = wanted.request.model;
  for (const std::string& note : shape.notes) resolved.notes.push_back(file + ": " + note);
  const std::string remark = remark_on(shape.weights, wanted.types);
  if (!remark.empty()) resolved.notes.push_back(file + ": " + remark);
}

Expected<std::vector<Problem>> problems_of_model(const Understood& asked, ResolvedRequest& resolved) {
  const std::string& file = asked.request.model;
  const auto shape = read_model(file);
  if (!shape) return propagate(shape);
  auto wanted = as_launched(asked, *shape, resolved);
  if (!wanted) return propagate(wanted);
  std::string type_reason = !asked.types.empty()     ? "asked for"
                            : !wanted->types.empty() ? asked.launched->option
                                                     : shape->weights.reason;
  if (wanted->types.empty()) wanted->types = shape->weights.types;
  auto problems = problems_of_shape(*shape, *wanted);
  if (!problems) {
    Error error = std::move(problems).error();
    error.message = file + ": " + error.message;
    return fail(std::move(error));
  }
  explain(*shape, *wanted, type_reason, resolved);
  return problems;
}

// One problem for each type and layout. Its sizes have no meaning.
std::vector<Problem> problems_of_generic(const Understood& wanted) {
  std::vector<DataType> types = wanted.types;
  if (types.empty()) types = {DataType::fp8, DataType::bf16};
  std::vector<Problem> problems;
  for (const DataType type : types) {
    for (const Layout layout : wanted.layouts) problems.push_back({type, layout, 128, 128, 1});
  }
  return problems;
}

Parallelism parallelism_of(const Request& request) {
  return {request.expert_parallel, request.tensor_parallel, request.redundant_experts};
}

// An error if dtype or layout is given with problems that have a type and layout of their own.
Expected<void> check_own_types(const Request& request, const OptionNames& names) {
  const bool own = !request.problems.empty() || request.recorded;
  if (!own || (request.dtype.empty() && request.layout.empty())) return {};
  return refuse_request(fmt::format("{} is not for {}: each has its own",
                                    request.dtype.empty() ? names.layout : names.dtype,
                                    request.recorded ? names.recorded : names.problems));
}

// An error if a text contains a NUL, at which the system would cut it.
Expected<void> check_texts(const Request& request, const OptionNames& names) {
  std::vector<std::pair<std::string, const std::string*>> texts{{names.model, &request.model},
                                                                {names.recorded, &request.recorded_from}};
  for (const auto& [engine, command] : request.launch) texts.emplace_back(names.engine_prefix + engine, &command);
  for (const auto& [name, text] : texts) {
    if (text->find('\0') != std::string::npos) return refuse_request(fmt::format("{} contains a NUL character", name));
  }
  return {};
}

Expected<void> check_data_type(const std::string& field, DataType type) {
  if (jit::find_data_type(type) != nullptr) return {};
  return refuse_request(fmt::format("{}: unknown data type {}", field, static_cast<int>(type)));
}

Expected<void> check_known_layout(const std::string& field, Layout layout) {
  if (jit::find_layout(layout) != nullptr) return {};
  return refuse_request(fmt::format("{}: unknown layout {}", field, static_cast<int>(layout)));
}

// An error if a type or a layout is a number that is no enumerator.
Expected<void> check_enumerators(const Request& request, const OptionNames& names) {
  for (const DataType type : request.dtype) {
    if (auto sound = check_data_type(names.dtype, type); !sound) return sound;
  }
  for (const Layout layout : request.layout) {
    if (auto sound = check_known_layout(names.layout, layout); !sound) return sound;
  }
  for (std::size_t i = 0; i < request.problems.size(); ++i) {
    const Problem& problem = request.problems[i].problem;
    const std::string field = fmt::format("{}[{}]", names.problems, i);
    auto sound =
        check_data_type(field, problem.data_type).and_then([&] { return check_known_layout(field, problem.layout); });
    if (!sound) return sound;
  }
  return {};
}

// An error if a range of M is given for problems with ranges of their own. The command and the C interface give each
// problem the request's range.
Expected<void> check_own_ranges(const Request& request, const OptionNames& names) {
  const MRange given{request.m_first, request.m_last};
  if (given == MRange{1, largest_m()}) return {};
  const auto differs = [&](const ProblemRange& one) { return one.range != given; };
  if (!request.recorded && std::none_of(request.problems.begin(), request.problems.end(), differs)) return {};
  return refuse_request(fmt::format("{} and {} are not for {}: each has its own range of M", names.m_first,
                                    names.m_last, request.recorded ? names.recorded : names.problems));
}

// An error if ranks are given without a model: only a model is distributed over ranks.
Expected<void> check_undivided(const Request& request, const OptionNames& names) {
  if (!request.model.empty() || parallelism_of(request) == Parallelism()) return {};
  const std::string why =
      request.generic_only
          ? fmt::format("the kernels of {} are the same on every rank", names.generic_only)
          : fmt::format("a {} is already what one rank sees", request.recorded ? "recorded problem" : names.problem);
  return refuse_request(fmt::format("{}, {} and {} divide a {}; {}", names.expert_parallel, names.tensor_parallel,
                                    names.redundant_experts, names.model, why));
}

// An error unless the request names problems in exactly one way and all of its fields are valid with it.
Expected<void> check_source(const Request& request, const OptionNames& names) {
  const int sources = (request.model.empty() ? 0 : 1) + (request.problems.empty() ? 0 : 1) +
                      (request.recorded ? 1 : 0) + (request.generic_only ? 1 : 0);
  if (sources == 0) return refuse_request(fmt::format("nothing to plan for: give {}", names.sources));
  if (sources > 1) return refuse_request(fmt::format("more than one thing to plan for: give either {}", names.sources));
  if (request.generic_only && request.no_generic) {
    return refuse_request(fmt::format("{} and {} leave nothing to plan", names.generic_only, names.no_generic));
  }
  if (auto sound = check_enumerators(request, names); !sound) return sound;
  if (request.m_first > request.m_last) {
    return refuse_request(
        fmt::format("{} {} is above {} {}", names.m_first, request.m_first, names.m_last, request.m_last));
  }
  return check_own_types(request, names).and_then([&] { return check_own_ranges(request, names); }).and_then([&] {
    return check_undivided(request, names);
  });
}

// Takes the model from the launch command if the request names none. Errors: the request names problems in another way
// than by a model, or gives a number that the command determines.
Expected<Request> with_launch(Request request, const std::optional<engines::Launched>& launched,
                              const OptionNames& names) {
  if (!launched) return request;
  if (!request.problems.empty() || request.recorded || request.generic_only) {
    const char* const source = !request.problems.empty() ? names.problem
                               : request.recorded        ? names.recorded
                                                         : names.generic_only;
    return refuse_request(fmt::format("{} is for a {}, not for {}", launched->option, names.model, source));
  }
  if (parallelism_of(request) != Parallelism()) {
    return refuse_request(fmt::format("{} says how the experts are divided; leave out {}, {} and {}", launched->option,
                                      names.expert_parallel, names.tensor_parallel, names.redundant_experts));
  }
  if (!request.model.empty()) return request;
  auto file = engines::model_of(*launched, names);
  if (!file) return propagate(file);
  request.model = *std::move(file);
  return request;
}

Expected<std::vector<ProblemRange>> problems_of_records(const std::string& place, std::vector<std::string>& notes) {
  const auto recorded = read_recorded(place);
  if (!recorded) return propagate(recorded);
  if (!recorded->skipped.empty()) {
    const auto skipped = static_cast<std::int64_t>(recorded->skipped.size());
    notes.push_back(fmt::format("{} in {} cannot be used, for one: {}", util::count_text(skipped, "record"), place,
                                recorded->skipped.front().reason));
  }
  auto problems = problems_of(*recorded, place);
  if (!problems) return problems;
  const auto count = static_cast<std::int64_t>(problems->size());
  notes.push_back(
      fmt::format("planning {} that engines asked for, as recorded in {}", util::count_text(count, "problem"), place));
  return problems;
}

Expected<std::vector<ProblemRange>> problems_of_source(const Understood& wanted, ResolvedRequest& resolved) {
  const Request& request = wanted.request;
  const auto over_m = [&](const std::vector<Problem>& problems) {
    return over_range(problems, {request.m_first, request.m_last});
  };
  if (request.generic_only) return over_m(problems_of_generic(wanted));
  if (request.recorded) return problems_of_records(request.recorded_from, resolved.notes);
  if (request.model.empty()) return request.problems;
  return problems_of_model(wanted, resolved).map(over_m);
}

PlanRequest plan_request(const Request& request, std::vector<ProblemRange> problems) {
  PlanRequest wanted;
  wanted.problems = std::move(problems);
  wanted.target.architecture = request.arch;
  wanted.specialized = !request.generic_only;
  wanted.generic = !request.no_generic;
  return wanted;
}

}  // namespace

Expected<std::vector<DataType>> parse_types(const std::string& text, const char* option) {
  return parse_list<DataType>(option, text, jit::data_type_named, jit::data_types()).map(in_order_of_rules);
}

Expected<std::vector<Layout>> parse_layouts(const std::string& text, const char* option) {
  return parse_list<Layout>(option, text, jit::layout_named, jit::layouts());
}

Expected<ResolvedRequest> resolve(const Request& given, const OptionNames& names) {
  if (auto sound = check_texts(given, names); !sound) return propagate(sound);
  const auto launched = engines::read_launch(given.launch, names);
  if (!launched) return propagate(launched);
  const auto request = with_launch(given, *launched, names);
  if (!request) return propagate(request);
  if (auto sound = check_source(*request, names); !sound) return propagate(sound);

  const Understood wanted{*request,
                          names,
                          layouts_or_both(request->layout),
                          in_order_of_rules(request->dtype),
                          parallelism_of(*request),
                          *launched ? &**launched : nullptr};
  ResolvedRequest resolved;
  auto problems = problems_of_source(wanted, resolved);
  if (!problems) return propagate(problems);
  resolved.plan = plan_request(*request, *std::move(problems));
  return resolved;
}

std::string padding_advice(DataType type, std::int64_t size, const char* name) {
  const auto padded = padded_size(type, size);
  return padded && *padded > size ? fmt::format("; pad {} to {}", name, *padded) : std::string();
}

}  // namespace cubinet::warmup
