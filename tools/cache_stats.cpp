// cubinet cache stats: figures of the whole cabinet.
#include <memory>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "jit/accepted_compilers.hpp"
#include "tools/cache_command.hpp"
#include "tools/cache_text.hpp"
#include "tools/output.hpp"
#include "util/json_text.hpp"
#include "util/text.hpp"
#include "warmup/campaign/coverage.hpp"

namespace cubinet::tools {
namespace {

constexpr const char* stats_help =
    "--prometheus prints the same figures in Prometheus' text format 0.0.4: gauges and counters\n"
    "cubinet_cache_..., each with the cabinet's folder as label cache. Unknown figures are left out. The\n"
    "textfile collector of a node exporter reads it. Each line `complete for` names the problems of a\n"
    "warmup by type, layout, N x K and groups; of many problems the first four.\n\n"
    "Example:\n"
    "  cubinet cache stats --cache /opt/kernels\n"
    "  cubinet cache stats --prometheus > /var/lib/node_exporter/cubinet.prom\n\n"
    "With --json:\n"
    "  cache         the cabinet's folder\n"
    "  persist       \"on\" or \"readonly\"\n"
    "  entries       number of entries\n"
    "  bytes         total size of their files\n"
    "  hits          total hits of these entries; null: the index could not be read\n"
    "  quarantined   number of damaged files that were moved to quarantine/\n"
    "  quarantine_files, quarantine_bytes\n"
    "                content of quarantine/, damaged indexes included: at most the latest 1,000 files and\n"
    "                256 MiB, which do not count towards the cabinet's limits\n"
    "  compile_ms    total compile time of the entries in milliseconds\n"
    "  compilers     the compilers of the entries: a list of {compiler (empty: not recorded), entries}\n"
    "  damaged       number of files in objects/ that look damaged; they are not entries\n"
    "  unreadable    objects and folders that cannot be read: a list of {name, reason}\n"
    "  index_problem why the index could not be read, else empty\n"
    "  counters      since the index was created; null: it could not be read. {hits, misses, compiles,\n"
    "                damage (damaged files that look-ups moved to quarantine/), evictions,\n"
    "                evicted_misses (misses of evicted entries)}\n"
    "  coverage      the coverage records of warmups whose entries are all present: a list\n"
    "                of {problems, m_range, arch, num_sms, nvrtc (versions that compiled the entries,\n"
    "                \"13.0.88\"), current (true: compiled from the templates of this build), executed\n"
    "                (null, or {device, driver}), kernels (number), recorded (seconds since 1970)}.\n"
    "                problems is a list of {dtype, layout, n, k, groups, m_range}; n, k and groups are 0\n"
    "                for generic kernels. The record's m_range goes from the smallest to the largest M\n";

using util::format_byte_size;

using Records = std::vector<warmup::CoverageRecord>;

// "13.0.88", or "13.0.88, 13.4.92".
std::string versions_text(const jit::CompilerCounts& compilers) {
  std::vector<std::string_view> versions;
  for (const auto& [compiler, kernels] : compilers) versions.push_back(jit::compiler_version(compiler));
  return fmt::format("{}", fmt::join(versions, ", "));
}

Json coverage_array(const Records& records) {
  Json array = Json::array();
  for (const warmup::CoverageRecord& one : records) {
    const warmup::Subject& subject = one.subject;
    Json executed;
    if (subject.executed) executed = {{"device", subject.executed->device}, {"driver", subject.executed->driver}};
    const MRange range = warmup::whole_range(subject.problems);
    array.push_back(Json{{"problems", problems_array(subject.problems)},
                         {"m_range", {range.first, range.last}},
                         {"arch", subject.architecture},
                         {"num_sms", subject.num_sms},
                         {"nvrtc", versions_text(one.compilers)},
                         {"current", one.current},
                         {"executed", std::move(executed)},
                         {"kernels", one.kernels},
                         {"recorded", one.recorded}});
  }
  return array;
}

Json compilers_array(const cache::Stats& stats) {
  Json array = Json::array();
  for (const auto& [compiler, entries] : stats.compilers) {
    array.push_back({{"compiler", compiler}, {"entries", entries}});
  }
  return array;
}

// "NVRTC 13.0.88 (10), not recorded (2)"
std::string compilers_text(const cache::Stats& stats) {
  std::vector<std::string> parts;
  for (const auto& [compiler, entries] : stats.compilers) {
    parts.push_back(fmt::format("{} ({})", compiler.empty() ? "not recorded" : short_text(compiler), entries));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void print_coverage(const Records& records) {
  for (const warmup::CoverageRecord& one : records) {
    const warmup::Subject& subject = one.subject;
    const std::string compilers = one.compilers.empty() ? "" : ", " + jit::compilers_text(one.compilers);
    std::string text = fmt::format("complete     for {}; M {}, {}{}: {}; {} ago", problems_text(subject.problems),
                                   range_text(subject.problems), target_text(one, records), compilers,
                                   count_text(static_cast<std::int64_t>(one.kernels), "kernel"), age_of(one.recorded));
    if (subject.executed) text += "; executed on " + subject.executed->device;
    if (!one.current) text += "; from the templates of another build";
    print(one_line(text) + "\n");
  }
}

using Value = std::variant<std::int64_t, double>;

// A figure of the cabinet in its three forms: JSON, text and metric.
struct Figure {
  const char* field;  // in the JSON object
  const char* label;  // of the text line; null: no line
  std::string (*text)(const Value& value);
  const char* metric;
  const char* type;  // of the metric
  const char* help;
  double scale;  // metric = figure * scale; the metric is in bytes or seconds
  std::variant<std::int64_t cache::Stats::*, double cache::Stats::*> member;
  bool of_index;  // unknown if the index could not be read
};

std::string as_number(const Value& value) {
  return std::visit([](auto number) { return fmt::format("{}", number); }, value);
}
std::string as_size(const Value& value) { return format_byte_size(std::get<std::int64_t>(value)); }
std::string as_time(const Value& value) { return milliseconds_text(std::get<double>(value)) + " together"; }

constexpr Figure figures[] = {
    {"entries", "entries", as_number, "entries", "gauge", "Entries in the cabinet.", 1, &cache::Stats::entries, false},
    {"bytes", "size", as_size, "bytes", "gauge", "Size of the entries' files.", 1, &cache::Stats::bytes, false},
    {"hits", "hits", as_number, "entry_hits", "gauge", "Hits of the existing entries.", 1, &cache::Stats::hits, true},
    {"quarantined", "quarantined", as_number, "quarantined", "gauge", "Damaged files that were moved to quarantine/.",
     1, &cache::Stats::quarantined, false},
    {"quarantine_files", nullptr, as_number, "quarantine_files", "gauge", "Files in quarantine/.", 1,
     &cache::Stats::quarantine_files, false},
    {"quarantine_bytes", nullptr, as_size, "quarantine_bytes", "gauge", "Size of the files in quarantine/.", 1,
     &cache::Stats::quarantine_bytes, false},
    {"compile_ms", "compiled in", as_time, "compile_seconds", "gauge", "Total compile time of the entries.", 1e-3,
     &cache::Stats::compile_ms, false},
    {"damaged", nullptr, as_number, "damaged", "gauge", "Files in objects/ that look damaged.", 1,
     &cache::Stats::damaged, false},
};

Value value_of(const Figure& figure, const cache::Stats& stats) {
  return std::visit([&](auto member) { return Value(stats.*member); }, figure.member);
}

bool known(const Figure& figure, const cache::Stats& stats) { return !figure.of_index || stats.index_problem.empty(); }

Json counters_object(const cache::Counters& counters) {
  Json object;
  for (const cache::CounterField& field : cache::counter_fields) object[field.name] = counters.*field.value;
  return object;
}

void print_counters(const cache::Counters& counters) {
  print(fmt::format(
      "look-ups     {} hits, {} misses, {} of them of evicted entries\ncompiled     {}\ndamaged      {} moved to "
      "quarantine/\n"
      "evicted      {}\n",
      counters.hits, counters.misses, counters.evicted_misses, counters.compiles, counters.damage, counters.evictions));
}

void print_object_of(const cache::Stats& stats, const Records& records, const cache::Maintenance& cabinet) {
  Json object{{"cache", cabinet.root().string()}, {"persist", cache::persistence_name(cabinet.persistence())}};
  for (const Figure& figure : figures) {
    if (!known(figure, stats)) {
      object[figure.field] = nullptr;
    } else {
      std::visit([&](auto value) { object[figure.field] = value; }, value_of(figure, stats));
    }
  }
  object["compilers"] = compilers_array(stats);
  object["unreadable"] = unreadable_array(stats.unreadable);
  object["index_problem"] = stats.index_problem;
  object["counters"] = stats.index_problem.empty() ? counters_object(stats.counters) : Json();
  object["coverage"] = coverage_array(records);
  print_object(object);
}

void print_text(const cache::Stats& stats, const Records& records, const cache::Maintenance& cabinet) {
  print(fmt::format("{:<13}{} (persistence {})\n", "cache", one_line(cabinet.root().string()),
                    cache::persistence_name(cabinet.persistence())));
  for (const Figure& figure : figures) {
    if (figure.label == nullptr) continue;
    const std::string value = known(figure, stats) ? figure.text(value_of(figure, stats)) : "unknown";
    print(fmt::format("{:<13}{}\n", figure.label, value));
  }
  if (stats.quarantine_files > 0) {
    print(fmt::format("{:<13}{}, {}\n", "quarantine", count_text(stats.quarantine_files, "file"),
                      format_byte_size(stats.quarantine_bytes)));
  }
  if (!stats.compilers.empty()) print(fmt::format("{:<13}{}\n", "compilers", compilers_text(stats)));
  if (stats.index_problem.empty()) print_counters(stats.counters);
  print_coverage(records);
}

// A Prometheus label. Backslash, quote and line feed are escaped in its value; invalid UTF-8 in the folder's name is
// replaced.
std::string label_text(std::string_view name, std::string_view value) {
  std::string text = fmt::format("{}=\"", name);
  while (!value.empty()) {
    const util::Character character = util::take_character(value);
    if (character.code == '\\' || character.code == '"') text += '\\';
    text += character.code == '\n' ? "\\n" : character.bytes;
  }
  return text + '"';
}

void print_metrics(const cache::Stats& stats, const cache::Maintenance& cabinet) {
  const std::string label = label_text("cache", cabinet.root().string());
  const auto metric = [&](const std::string& name, const char* type, const char* help, const std::string& value) {
    print(fmt::format("# HELP cubinet_cache_{0} {2}\n# TYPE cubinet_cache_{0} {1}\ncubinet_cache_{0}{{{3}}} {4}\n",
                      name, type, help, label, value));
  };
  for (const Figure& figure : figures) {
    if (!known(figure, stats)) continue;
    const auto scaled = [&](auto value) {
      return figure.scale == 1 ? as_number(value) : as_number(static_cast<double>(value) * figure.scale);
    };
    metric(figure.metric, figure.type, figure.help, std::visit(scaled, value_of(figure, stats)));
  }
  for (const cache::CounterField& field : cache::counter_fields) {
    if (!stats.index_problem.empty()) break;
    metric(std::string(field.name) + "_total", "counter", field.meaning, std::to_string(stats.counters.*field.value));
  }
  metric("coverages", "gauge", "Warmups that the cabinet is complete for.", std::to_string(stats.coverage.size()));
  const bool writable = cabinet.persistence() == cache::Persistence::on;
  metric("writable", "gauge", "1 if the cabinet can be written.", writable ? "1" : "0");
  metric("index_readable", "gauge", "1 if the index could be read.", stats.index_problem.empty() ? "1" : "0");
}

int stats(const CacheOptions& options, bool prometheus, cache::Maintenance& cabinet) {
  auto survey = cabinet.survey();
  if (!survey) return report_error(survey.error(), options.json, exit_failed);
  const cache::Stats stats = cabinet.stats(*survey);
  survey->index_problem = stats.index_problem;  // the counters are in the index, too
  note_shortfalls(*survey);
  const Records records = warmup::read_records(stats.coverage, survey->entries);
  if (prometheus) {
    print_metrics(stats, cabinet);
  } else if (options.json) {
    print_object_of(stats, records, cabinet);
  } else {
    print_text(stats, records, cabinet);
  }
  return exit_done;
}

}  // namespace

void add_cache_stats(Command cache) {
  const auto prometheus = std::make_shared<bool>(false);
  const auto action = [prometheus](const CacheOptions& options, cache::Maintenance& cabinet) {
    return stats(options, *prometheus, cabinet);
  };
  add_cache_command(cache, "stats", "Print figures of the whole cabinet", stats_help, action)
      .flag("--prometheus", *prometheus, "Print metrics for Prometheus")
      .excludes("--json");
}

}  // namespace cubinet::tools
