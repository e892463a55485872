// cubinet cache: what is in the cabinet, and whether it is sound.
#include <algorithm>
#include <memory>
#include <tuple>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tools/cache_help.hpp"
#include "tools/output.hpp"
#include "tools/table.hpp"
#include "tools/toolchain.hpp"
#include "util/clock.hpp"
#include "util/digest.hpp"
#include "util/text.hpp"
#include "warmup/coverage.hpp"

namespace cubinet::tools {
namespace {

using util::format_byte_size;

struct CacheOptions {
  std::string root;
  std::string key;
  bool repair = false;
  bool json = false;
};

constexpr std::size_t shortest_prefix = 4;
constexpr std::size_t shown_digits = 12;

// How long ago `then` was, whatever an object or the index says: never negative, and a time before 1970 is one of 1970.
std::string age_of(std::int64_t then) {
  const std::int64_t now = util::system_clock().seconds();
  return age_text(now - std::clamp<std::int64_t>(then, 0, now));
}

// Says what a listing leaves out, and that `index_problem` (empty: none) takes the hits from it.
void note_shortfalls(std::size_t damaged, const std::string& index_problem) {
  if (!index_problem.empty()) note(index_problem + "; hits are unknown");
  if (damaged == 0) return;
  note(fmt::format("{} damaged {} in objects/ not listed; run `cubinet cache verify --repair`", damaged,
                   damaged == 1 ? "file is" : "files are"));
}

std::string config_text(const cache::Facts& facts) { return facts.config.empty() ? "-" : one_line(facts.config); }

// `use_known`: the index was read, and hits and last_used mean something.
Json entry_object(const cache::Entry& entry, bool use_known) {
  const auto use = [&](std::int64_t value) { return use_known ? Json(value) : Json(); };
  return Json{{"key", entry.key.hex()},
              {"family", entry.facts.family},
              {"arch", entry.facts.arch},
              {"n", entry.facts.n},
              {"k", entry.facts.k},
              {"config", entry.facts.config},
              {"bytes", entry.bytes},
              {"created", entry.facts.created},
              {"last_used", use(entry.last_used)},
              {"hits", use(entry.hits)},
              {"registers", entry.facts.registers},
              {"spill_bytes", entry.facts.spill_bytes},
              {"smem_bytes", entry.facts.smem_bytes},
              {"compile_ms", entry.facts.compile_ms}};
}

void sort_for_people(std::vector<cache::Entry>& entries) {
  const auto rank = [](const cache::Entry& entry) {
    return std::tie(entry.facts.family, entry.facts.n, entry.facts.k, entry.facts.config, entry.key);
  };
  std::sort(entries.begin(), entries.end(),
            [&](const cache::Entry& a, const cache::Entry& b) { return rank(a) < rank(b); });
}

void print_entries(const std::vector<cache::Entry>& entries, const std::string& root, bool use_known) {
  Table table({"KEY", "FAMILY", "ARCH", ">N", ">K", "CONFIG", ">REGS", ">SPILL", ">SMEM", ">COMPILED IN", ">SIZE",
               ">AGE", ">HITS"});
  std::int64_t bytes = 0;
  for (const cache::Entry& entry : entries) {
    const cache::Facts& facts = entry.facts;
    table.add({entry.key.hex().substr(0, shown_digits), one_line(facts.family), one_line(facts.arch),
               size_text(facts.n), size_text(facts.k), config_text(facts), std::to_string(facts.registers),
               format_byte_size(facts.spill_bytes), format_byte_size(facts.smem_bytes),
               milliseconds_text(facts.compile_ms), format_byte_size(entry.bytes), age_of(facts.created),
               use_known ? std::to_string(entry.hits) : "?"});
    bytes += entry.bytes;
  }
  if (!entries.empty()) print(table.text());
  print(fmt::format("{} entries, {} in {}\n", entries.size(), format_byte_size(bytes), root));
}

int list(const CacheOptions& options, cache::Cabinet& cabinet) {
  auto survey = cabinet.survey();
  if (!survey) return report_error(survey.error(), options.json, exit_failed);
  sort_for_people(survey->entries);
  note_shortfalls(survey->damaged.size(), survey->index_problem);
  const bool use_known = survey->index_problem.empty();
  if (!options.json) {
    print_entries(survey->entries, cabinet.root().string(), use_known);
    return exit_done;
  }
  Json array = Json::array();
  for (const cache::Entry& entry : survey->entries) array.push_back(entry_object(entry, use_known));
  print_object(Json{{"cache", cabinet.root().string()},
                    {"entries", std::move(array)},
                    {"damaged", survey->damaged},
                    {"index_problem", survey->index_problem}});
  return exit_done;
}

// The record as JSON where it is that, else as the text that it is. Nested deeper than any record it is left a text:
// writing it out would take stack for each level.
Json record_value(const std::string& record) {
  constexpr int deepest = 32;
  bool deep = false;
  const auto watch = [&deep](int depth, Json::parse_event_t, Json&) {
    deep = deep || depth > deepest;
    return true;
  };
  Json parsed = Json::parse(record, watch, false);
  return deep || parsed.is_discarded() ? Json(record) : parsed;
}

void print_entry(const cache::Entry& entry, bool use_known) {
  const cache::Facts& facts = entry.facts;
  const auto line = [](std::string_view name, const std::string& value) {
    print(fmt::format("{:<14}{}\n", name, value));
  };
  line("key", entry.key.hex());
  line("family", one_line(facts.family));
  line("arch", one_line(facts.arch));
  line("N, K", fmt::format("{}, {}", size_text(facts.n), size_text(facts.k)));
  line("config", config_text(facts));
  line("registers", fmt::format("{} per thread", facts.registers));
  line("spilled", fmt::format("{} per thread", format_byte_size(facts.spill_bytes)));
  line("shared memory", format_byte_size(facts.smem_bytes));
  line("compiled in", milliseconds_text(facts.compile_ms));
  line("size", format_byte_size(entry.bytes));
  line("created", fmt::format("{} ago", age_of(facts.created)));
  const std::string last_used = entry.last_used == 0 ? "never" : fmt::format("{} ago", age_of(entry.last_used));
  line("last used", use_known ? last_used : "unknown");
  line("hits", use_known ? std::to_string(entry.hits) : "unknown");
  line("entry points", one_line(fmt::format("{}", fmt::join(facts.kernel_names, ", "))));
  line("record", record_value(entry.record).dump(2, ' ', false, Json::error_handler_t::replace));
}

// What the user typed is the beginning of a key, in either case.
Expected<std::string> key_prefix(const std::string& text) {
  if (util::is_hex(text) && text.size() >= shortest_prefix && text.size() <= 64) return text;
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("KEY '{}' is not a key or the beginning of one: {} to 64 hexadecimal digits", text, shortest_prefix));
}

Error damaged(const std::string& reason) {
  return {ErrorCode::io, reason + "; run `cubinet cache verify --repair`", {}};
}

// A survey with the one entry that `prefix` means.
Expected<cache::Survey> find_one(const std::string& prefix, cache::Cabinet& cabinet) {
  auto found = cabinet.survey(prefix);
  if (!found) return found;
  const auto& entries = found->entries;
  const auto& broken = found->damaged;
  if (entries.size() == 1 && broken.empty()) return found;
  if (entries.empty() && broken.size() == 1) {
    const auto key = cache::Key::from_hex(broken.front());
    const auto reason = key ? cabinet.check(*key) : Expected<void>();
    return tl::make_unexpected(
        damaged(reason ? fmt::format("{} in objects/ is no object", broken.front()) : reason.error().message));
  }
  if (entries.empty() && broken.empty()) {
    return fail(ErrorCode::not_found,
                fmt::format("no entry's key begins with {} in {}", prefix, cabinet.root().string()));
  }
  std::string candidates;
  for (const cache::Entry& entry : entries) {
    candidates += fmt::format("  {}  {} N={} K={} {}\n", entry.key.hex(), one_line(entry.facts.family),
                              size_text(entry.facts.n), size_text(entry.facts.k), config_text(entry.facts));
  }
  for (const std::string& name : broken) candidates += fmt::format("  {}  damaged\n", one_line(name));
  return fail(ErrorCode::invalid_argument,
              fmt::format("{} is the beginning of {} keys:", prefix, entries.size() + broken.size()), candidates);
}

int show(const CacheOptions& options, cache::Cabinet& cabinet) {
  const auto prefix = key_prefix(options.key);
  if (!prefix) return report_error(prefix.error(), options.json, exit_usage);
  const auto found = find_one(*prefix, cabinet);
  if (!found) return report_error(found.error(), options.json, exit_failed);
  const cache::Entry& entry = found->entries.front();
  if (const auto whole = cabinet.check(entry.key); !whole) {
    return report_error(damaged(whole.error().message), options.json, exit_failed);
  }
  note_shortfalls(0, found->index_problem);
  const bool use_known = found->index_problem.empty();
  if (!options.json) {
    print_entry(entry, use_known);
    return exit_done;
  }
  Json object = entry_object(entry, use_known);
  object["kernel_names"] = entry.facts.kernel_names;
  object["record"] = record_value(entry.record);
  print_object(object);
  return exit_done;
}

// What the cabinet is complete for, as far as this build can read it.
Json coverage_array(const std::vector<cache::Coverage>& coverages) {
  Json array = Json::array();
  for (const cache::Coverage& one : coverages) {
    const auto subject = warmup::subject_from_json(one.subject);
    if (!subject) continue;
    Json executed;
    if (subject->executed) executed = {{"device", subject->executed->device}, {"driver", subject->executed->driver}};
    array.push_back(Json{{"problems", subject->problems.size()},
                         {"m_range", {subject->range.first, subject->range.last}},
                         {"arch", subject->architecture},
                         {"num_sms", subject->num_sms},
                         {"nvrtc", subject->nvrtc},
                         {"current", subject->templates == warmup::templates_digest()},
                         {"executed", std::move(executed)},
                         {"kernels", one.keys.size()},
                         {"recorded", one.recorded}});
  }
  return array;
}

void print_coverage(const std::vector<cache::Coverage>& coverages) {
  for (const cache::Coverage& one : coverages) {
    const auto subject = warmup::subject_from_json(one.subject);
    if (!subject) continue;
    std::string text = fmt::format("complete     for {} problems, M {} to {}, {}, NVRTC {}: {} kernels; {} ago",
                                   subject->problems.size(), subject->range.first, subject->range.last,
                                   subject->architecture, subject->nvrtc, one.keys.size(), age_of(one.recorded));
    if (subject->executed) text += "; executed on " + subject->executed->device;
    if (subject->templates != warmup::templates_digest()) text += "; with the templates of another build";
    print(one_line(text) + "\n");
  }
}

int stats(const CacheOptions& options, cache::Cabinet& cabinet) {
  const auto stats = cabinet.stats();
  if (!stats) return report_error(stats.error(), options.json, exit_failed);
  note_shortfalls(static_cast<std::size_t>(stats->damaged), stats->index_problem);
  const bool use_known = stats->index_problem.empty();
  if (options.json) {
    print_object(Json{{"cache", cabinet.root().string()},
                      {"persist", persist_name(cabinet.persistence())},
                      {"entries", stats->entries},
                      {"bytes", stats->bytes},
                      {"hits", use_known ? Json(stats->hits) : Json()},
                      {"quarantined", stats->quarantined},
                      {"compile_ms", stats->compile_ms},
                      {"damaged", stats->damaged},
                      {"index_problem", stats->index_problem},
                      {"coverage", coverage_array(stats->coverage)}});
    return exit_done;
  }
  print(fmt::format(
      "cache        {} (persistence {})\nentries      {}\nsize         {}\nhits         {}\n"
      "quarantined  {}\ncompiled in  {} together\n",
      cabinet.root().string(), persist_name(cabinet.persistence()), stats->entries, format_byte_size(stats->bytes),
      use_known ? std::to_string(stats->hits) : "unknown", stats->quarantined, milliseconds_text(stats->compile_ms)));
  print_coverage(stats->coverage);
  return exit_done;
}

void print_report(const cache::VerifyReport& report, bool repair, bool repaired) {
  for (const std::string& name : report.damaged) print(fmt::format("damaged: {}\n", one_line(name)));
  if (!report.index_problem.empty()) print(fmt::format("index: {}\n", one_line(report.index_problem)));
  const std::string rows = report.index_busy ? "index not compared"
                                             : fmt::format("{} objects without a row, {} rows without an object",
                                                           report.orphans, report.missing);
  print(fmt::format("{} checked, {} damaged, {}, {} leftovers{}\n", report.checked, report.damaged.size(), rows,
                    report.leftovers, repaired ? "; repaired" : ""));
  if (report.leftovers > 0 && !repair) {
    print(
        "leftovers are what killed writers left in tmp/: harmless, and `cubinet cache verify --repair` removes them\n");
  }
}

int verify(const CacheOptions& options, cache::Cabinet& cabinet) {
  const auto report = cabinet.verify(options.repair);
  if (!report) return report_error(report.error(), options.json, exit_failed);
  const bool sound = report->damaged.empty() && report->orphans == 0 && report->missing == 0;
  const bool repaired = options.repair && report->unmended == 0 && !report->index_busy;
  if (options.json) {
    print_object(Json{{"cache", cabinet.root().string()},
                      {"checked", report->checked},
                      {"damaged", report->damaged},
                      {"orphans", report->orphans},
                      {"missing", report->missing},
                      {"leftovers", report->leftovers},
                      {"index_problem", report->index_problem},
                      {"index_busy", report->index_busy},
                      {"repaired", repaired},
                      {"unmended", report->unmended}});
  } else {
    print_report(*report, options.repair, repaired);
  }
  if (!sound && !options.repair) note("run `cubinet cache verify --repair` to mend this");
  if (report->unmended > 0) note(fmt::format("{} damaged files could not be set aside", report->unmended));
  if (report->index_busy) {
    note(fmt::format("the index was busy and not {}; try again later", options.repair ? "mended" : "compared"));
  }
  return (options.repair ? repaired : sound) ? exit_done : exit_failed;
}

int remove(const CacheOptions& options, cache::Cabinet& cabinet) {
  const auto prefix = key_prefix(options.key);
  if (!prefix) return report_error(prefix.error(), options.json, exit_usage);
  const auto found = find_one(*prefix, cabinet);
  if (!found) return report_error(found.error(), options.json, exit_failed);
  const cache::Entry& entry = found->entries.front();
  const auto removed = cabinet.remove(entry.key);
  if (!removed) return report_error(removed.error(), options.json, exit_failed);
  if (!removed->index_problem.empty()) note(removed->index_problem + "; the next listing drops the row");
  if (options.json) {
    print_object(
        Json{{"removed", {entry.key.hex()}}, {"bytes", entry.bytes}, {"index_problem", removed->index_problem}});
  } else {
    print(fmt::format("removed {} ({})\n", entry.key.hex(), format_byte_size(entry.bytes)));
  }
  return exit_done;
}

using Action = int (*)(const CacheOptions&, cache::Cabinet&);

int with_cabinet(const CacheOptions& options, Action action) {
  const auto root = cache_root(options.root);
  if (!root) return report_error(root.error(), options.json, exit_usage);
  auto cabinet = cache::Cabinet::open(*root, false);
  if (!cabinet) return report_error(cabinet.error(), options.json, exit_failed);
  return action(options, *cabinet);
}

CLI::App* add_action(CLI::App& parent, const std::shared_ptr<CacheOptions>& options, int& exit_code, const char* name,
                     const char* help, Action action, const std::string& details) {
  CLI::App* command = parent.add_subcommand(name, help);
  add_cache_option(*command, options->root);
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer(details + '\n' + exit_codes_help);
  command->callback([options, action, &exit_code] { exit_code = with_cabinet(*options, action); });
  return command;
}

void add_key(CLI::App& command, const std::shared_ptr<CacheOptions>& options) {
  command.add_option("KEY", options->key, "A key, or at least 4 digits of its beginning")->required();
}

}  // namespace

void add_cache(CLI::App& app, int& exit_code) {
  CLI::App* cache = app.add_subcommand("cache", "Look into the cabinet; nothing here creates one");
  cache->require_subcommand(1);
  cache->footer(std::string("Example:\n  cubinet cache ls --cache /opt/kernels\n") + exit_codes_help);
  const auto options = std::make_shared<CacheOptions>();
  const auto add = [&](const char* name, const char* help, Action action, const std::string& details) {
    return add_action(*cache, options, exit_code, name, help, action, details);
  };
  add("ls", "List the entries", list, std::string(list_help) + entry_fields_help);
  add_key(*add("show", "One entry: what it is and what it uses", show,
               std::string(show_help) + entry_fields_help + show_more_fields_help),
          options);
  add("stats", "Figures of the whole cabinet", stats, stats_help);
  add("verify", "Compare every object with its digest and with the index", verify, verify_help)
      ->add_flag("--repair", options->repair, "Set damaged objects aside, mend the index, remove leftovers");
  add_key(*add("rm", "Remove one entry", remove, remove_help), options);
}

}  // namespace cubinet::tools
