// cubinet cache stats: figures of the whole cabinet.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/cache_command.hpp"
#include "tools/cache_entries.hpp"
#include "tools/cache_help.hpp"
#include "tools/table.hpp"
#include "util/text.hpp"
#include "warmup/coverage.hpp"

namespace cubinet::tools {
namespace {

using util::format_byte_size;

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

}  // namespace

void add_cache_stats(CLI::App& cache, int& exit_code) {
  add_cache_command(cache, exit_code, "stats", "Figures of the whole cabinet", stats_help, stats);
}

}  // namespace cubinet::tools
