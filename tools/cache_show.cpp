// cubinet cache show: one entry.
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tools/cache_command.hpp"
#include "tools/cache_entries.hpp"
#include "tools/cache_help.hpp"
#include "tools/table.hpp"
#include "util/text.hpp"

namespace cubinet::tools {
namespace {

using util::format_byte_size;

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

int show(const CacheOptions& options, const std::string& key, cache::Cabinet& cabinet) {
  const auto prefix = key_prefix(key);
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

}  // namespace

void add_cache_show(CLI::App& cache, int& exit_code) {
  const auto key = std::make_shared<std::string>();
  const auto action = [key](const CacheOptions& options, cache::Cabinet& cabinet) {
    return show(options, *key, cabinet);
  };
  CLI::App* command = add_cache_command(cache, exit_code, "show", "One entry: what it is and what it uses",
                                        std::string(show_help) + entry_fields_help + show_more_fields_help, action);
  add_key_argument(*command, *key);
}

}  // namespace cubinet::tools
