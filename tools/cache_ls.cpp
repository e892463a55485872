// cubinet cache ls: lists entries.
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/cache_command.hpp"
#include "tools/cache_text.hpp"
#include "tools/command_line.hpp"
#include "tools/entry_selection.hpp"
#include "tools/output.hpp"
#include "util/clock.hpp"
#include "util/text.hpp"

namespace cubinet::tools {
namespace {

constexpr const char* list_help =
    "Lists the entries that pass every given filter. DURATION is a whole number and s, min, h, d or w\n"
    "(12h, 7d); SIZE is a number and a unit (100KiB). --sort sorts in ascending order: key; family, N, K,\n"
    "config; n; k; used, least recently used first; size; age, youngest first; hits; compile, shortest\n"
    "first. Ties are sorted by family, N, K, config, also with --reverse.\n"
    "Nothing in objects/ is changed. Files that look damaged are not listed, but counted on standard\n"
    "error. If the index cannot be read, filters and orders by use are errors.\n\n"
    "Example:\n"
    "  cubinet cache ls --cache /opt/kernels\n"
    "  cubinet cache ls --family bf16_grouped_masked --unused-for 30d --sort size --reverse --limit 10\n\n"
    "With --json:\n"
    "  cache         the cabinet's folder\n"
    "  total         number of entries in the cabinet\n"
    "  matched       number of entries that pass the filters; --limit may show fewer\n"
    "  entries       a list, for the fields see below\n"
    "  damaged       keys, or names in objects/, of files that look damaged\n"
    "  unreadable    objects and folders that cannot be read: a list of {name, reason}\n"
    "  index_problem why the index could not be read, else empty\n"
    "  kept_problem  why pins and uses could not be read, else empty\n"
    "Each entry:\n";

using util::format_byte_size;

struct ListOptions {
  EntryFilter filter;
  EntryOrder order = entry_order("family").value();
  bool reverse = false;
  std::int64_t limit = 0;  // 0: no limit
};

// The entries to show.
struct Selected {
  std::vector<cache::Entry> entries;
  std::size_t total = 0;    // entries in the cabinet
  std::size_t matched = 0;  // entries that pass the filters; a limit may have cut some
};

Selected select(std::vector<cache::Entry> entries, const ListOptions& options) {
  const std::int64_t now = util::system_clock().seconds();
  Selected selected;
  selected.total = entries.size();
  std::erase_if(entries, [&](const cache::Entry& entry) { return !passes(entry, options.filter, now); });
  selected.matched = entries.size();
  sort_entries(entries, options.order, options.reverse);
  const auto limit = static_cast<std::size_t>(options.limit);
  if (limit != 0 && entries.size() > limit) entries.resize(limit);
  selected.entries = std::move(entries);
  return selected;
}

// "12 entries", or "2 of 12 entries" if some are left out.
std::string shown_text(const Selected& selected) {
  const std::string count =
      selected.entries.size() == selected.total ? "" : fmt::format("{} of ", selected.entries.size());
  return count + count_text(static_cast<std::int64_t>(selected.total), "entry");
}

void print_entries(const Selected& selected, const std::string& root, const Known& known) {
  Table table({"KEY", "FAMILY", "ARCH", ">N", ">K", "CONFIG", "COMPILER", ">REGS", ">SPILL", ">SMEM", ">COMPILED IN",
               ">SIZE", ">AGE", ">HITS", "KEPT"});
  std::int64_t bytes = 0;
  for (const cache::Entry& entry : selected.entries) {
    const cache::Facts& facts = entry.facts;
    table.add({entry.key.hex().substr(0, shown_digits), facts.family, facts.arch, size_text(facts.n),
               size_text(facts.k), config_text(facts), compiler_text(facts), std::to_string(facts.registers),
               format_byte_size(facts.spill_bytes), format_byte_size(facts.smem_bytes),
               milliseconds_text(facts.compile_ms), format_byte_size(entry.bytes), age_of(facts.created),
               known.use ? std::to_string(entry.hits) : "?", kept_text(entry, known)});
    bytes += entry.bytes;
  }
  if (!selected.entries.empty()) print(table.text());
  print(fmt::format("{}, {} in {}\n", shown_text(selected), format_byte_size(bytes), one_line(root)));
}

void print_list(const Selected& selected, const cache::Survey& survey, const std::string& root, const Known& known) {
  Json array = Json::array();
  for (const cache::Entry& entry : selected.entries) array.push_back(entry_object(entry, known));
  print_object(Json{{"cache", root},
                    {"total", selected.total},
                    {"matched", selected.matched},
                    {"entries", std::move(array)},
                    {"damaged", survey.damaged},
                    {"unreadable", unreadable_array(survey.unreadable)},
                    {"index_problem", survey.index_problem},
                    {"kept_problem", survey.kept_problem}});
}

int list(const CacheOptions& options, const ListOptions& wanted, cache::Cabinet& cabinet) {
  auto survey = cabinet.survey();
  if (!survey) return report_error(survey.error(), options.json, exit_failed);
  const Known known = tools::known(*survey);
  if (!known.use && (wanted.filter.asks_for_use() || is_by_use(wanted.order))) {
    return report_error({ErrorCode::io, survey->index_problem + "; filters and orders by use need the index", {}},
                        options.json, exit_failed);
  }
  note_shortfalls(*survey);
  const Selected selected = select(std::move(survey->entries), wanted);
  if (options.json) {
    print_list(selected, *survey, cabinet.root().string(), known);
  } else {
    print_entries(selected, cabinet.root().string(), known);
  }
  return exit_done;
}

Expected<std::string> parse_name(const std::string& text) {
  if (text.empty()) return fail(ErrorCode::invalid_argument, "the name is empty");
  return text;
}

Expected<std::int64_t> parse_size(const std::string& text) {
  const auto number = parse_number(text);
  if (number && *number >= 0) return *number;
  return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not a whole number from 0", text));
}

Expected<std::int64_t> parse_limit(const std::string& text) {
  const auto number = parse_number(text);
  if (number && *number >= 1) return *number;
  return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not a whole number from 1", text));
}

void add_filters(Command command, EntryFilter& filter) {
  add_parsed(command, "--family", filter.family, parse_name, "Only entries of this family").type_name("NAME");
  add_parsed(command, "--arch", filter.arch, parse_name, "Only entries of this architecture").type_name("ARCH");
  add_parsed(command, "--n", filter.n, parse_size, "Only entries of this N; 0: generic kernels").type_name("N");
  add_parsed(command, "--k", filter.k, parse_size, "Only entries of this K").type_name("K");
  add_parsed(command, "--used-within", filter.used_within, util::parse_duration,
             "Only entries that were used within this time")
      .type_name("DURATION");
  add_parsed(command, "--unused-for", filter.unused_for, util::parse_duration,
             "Only entries that were neither created nor used within this time")
      .type_name("DURATION");
  add_parsed(command, "--larger-than", filter.larger_than, util::parse_byte_size,
             "Only entries whose files are larger than this")
      .type_name("SIZE");
}

}  // namespace

void add_cache_ls(Command cache) {
  const auto wanted = std::make_shared<ListOptions>();
  const auto action = [wanted](const CacheOptions& options, cache::Cabinet& cabinet) {
    return list(options, *wanted, cabinet);
  };
  const Command command =
      add_cache_command(cache, "ls", "List the entries", std::string(list_help) + entry_fields_help, action);
  add_filters(command, wanted->filter);
  add_parsed(command, "--sort", wanted->order, entry_order, "Sort by this (default: family)")
      .type_name(entry_order_names());
  command.flag("--reverse", wanted->reverse, "Sort in descending order");
  add_parsed(command, "--limit", wanted->limit, parse_limit, "Show at most this many entries").type_name("N");
}

}  // namespace cubinet::tools
