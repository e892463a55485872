// cubinet cache ls: what is in the cabinet.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/cache_command.hpp"
#include "tools/cache_entries.hpp"
#include "tools/cache_help.hpp"
#include "tools/table.hpp"
#include "util/text.hpp"

namespace cubinet::tools {
namespace {

using util::format_byte_size;

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

}  // namespace

void add_cache_ls(CLI::App& cache, int& exit_code) {
  add_cache_command(cache, exit_code, "ls", "List the entries", std::string(list_help) + entry_fields_help, list);
}

}  // namespace cubinet::tools
