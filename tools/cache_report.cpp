// cubinet cache report: writes an HTML page about the whole cabinet.
#include "tools/cache_report.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "jit/kernel_facts.hpp"
#include "tools/cache_command.hpp"
#include "tools/cache_text.hpp"
#include "tools/entry_selection.hpp"
#include "tools/output.hpp"
#include "tools/toolchain.hpp"
#include "util/files.hpp"
#include "util/text.hpp"
#include "warmup/campaign/coverage.hpp"

namespace cubinet::tools {
namespace {

constexpr const char* report_help =
    "Writes one static HTML page without scripts: entries by family, shape and configuration, resources,\n"
    "age and use, coverage, and damage. Tables show the 50 largest entries and the 20 largest groups. The\n"
    "same state of the cabinet gives the same page. FILE must be outside the cabinet.\n\n"
    "Example:\n"
    "  cubinet cache report cabinet.html --cache /opt/kernels\n\n"
    "With --json:\n"
    "  file          the file that was written\n"
    "  bytes         its size\n"
    "  entries       number of entries in the cabinet\n";

constexpr const char* style_sheet = R"(
:root{color-scheme:light}
body{margin:0 auto;max-width:1240px;padding:16px;background:#fff;color:#1c1f23;font:15px/1.45 system-ui,sans-serif}
h1{font-size:1.4rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}h3{font-size:.95rem;margin:0 0 .5rem}
p{margin:.3rem 0}.path{color:#555;overflow-wrap:anywhere}.note{color:#8a3b00}
.cards,.charts{display:grid;gap:12px;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));margin-top:16px}
.charts{grid-template-columns:repeat(auto-fit,minmax(310px,1fr))}
.card,.chart{border:1px solid #d9dde2;border-radius:6px;padding:10px 12px;min-width:0}
.card b{display:block;font-size:1.3rem;overflow-wrap:anywhere}
.bar{display:grid;grid-template-columns:minmax(6.5rem,auto) 1fr minmax(3.5rem,auto);gap:8px;align-items:center}
.bar span{font-size:.85rem;overflow-wrap:anywhere}.bar span:last-child{text-align:right}
svg{width:100%;height:12px;display:block}rect{fill:#3b6fb6}
.scroll{overflow-x:auto;margin:.4rem 0 1.2rem}table{border-collapse:collapse;font-size:.85rem;width:100%}
th,td{padding:3px 8px;border-bottom:1px solid #e4e7eb;text-align:left;white-space:nowrap}
th{background:#f4f6f8}.r{text-align:right;font-variant-numeric:tabular-nums}
)";

using util::format_byte_size;
using Entries = std::vector<cache::Entry>;

constexpr std::size_t most_rows = 50;
constexpr std::size_t most_groups = 20;
constexpr std::size_t most_days = 14;

// "2026-11-30", in UTC; "never" for 0, "-" for a time that no writer can have stored.
std::string day_of(std::int64_t seconds) {
  constexpr std::int64_t year_10000 = 253'402'300'800;
  if (seconds == 0) return "never";
  if (seconds < 0 || seconds >= year_10000) return "-";
  const std::time_t time = seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

std::string size_of(std::int64_t bytes) { return format_byte_size(std::max<std::int64_t>(bytes, 0)); }

std::string card(std::string_view name, std::string_view value) {
  return fmt::format("<div class=\"card\"><b>{}</b>{}</div>\n", html_text(value), html_text(name));
}

// A note that a table does not show all of its rows; empty if it does.
std::string cut_note(std::size_t all, std::size_t shown, const char* what) {
  return all <= shown ? std::string() : fmt::format("<p>The {} {} of {}.</p>\n", shown, what, all);
}

struct Group {
  std::int64_t entries = 0;
  std::int64_t bytes = 0;
  std::int64_t hits = 0;
  double compile_ms = 0;
  std::int32_t registers = 0;
  std::int32_t spill_bytes = 0;
  std::int32_t smem_bytes = 0;

  void add(const cache::Entry& entry) {
    ++entries;
    bytes += entry.bytes;
    hits += entry.hits;
    compile_ms += entry.facts.compile_ms;
    const jit::KernelFacts kernel = jit::kernel_facts(entry.facts);
    registers = std::max(registers, kernel.registers);
    spill_bytes = std::max(spill_bytes, kernel.spill_bytes);
    smem_bytes = std::max(smem_bytes, kernel.smem_bytes);
  }
};

template <class NameOf>
std::map<std::string, Group> groups_of(const Entries& entries, NameOf name_of) {
  std::map<std::string, Group> groups;
  for (const cache::Entry& entry : entries) groups[name_of(entry)].add(entry);
  return groups;
}

// One row per family, shape or configuration, those with the most bytes first.
std::string group_table(const std::string& title, const std::map<std::string, Group>& groups, bool use_known) {
  std::vector<std::pair<std::string, Group>> sorted(groups.begin(), groups.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  HtmlTable table(
      {title, ">entries", ">size", ">hits", ">compiled in", ">most registers", ">most spill", ">most smem"});
  for (std::size_t i = 0; i < std::min(sorted.size(), most_groups); ++i) {
    const auto& [name, group] = sorted[i];
    table.add({short_text(name), std::to_string(group.entries), size_of(group.bytes),
               use_known ? std::to_string(group.hits) : "?", milliseconds_text(group.compile_ms),
               std::to_string(group.registers), size_of(group.spill_bytes), size_of(group.smem_bytes)});
  }
  return cut_note(sorted.size(), most_groups, "with the most bytes") + table.text();
}

std::string groups_section(const Entries& entries, bool use_known) {
  const auto by_family = [](const cache::Entry& entry) {
    return jit::kernel_facts(entry.facts).family + " " + entry.facts.arch;
  };
  const auto by_shape = [](const cache::Entry& entry) {
    const jit::KernelFacts kernel = jit::kernel_facts(entry.facts);
    return kernel.n == 0 && kernel.k == 0 ? "any" : fmt::format("{} x {}", size_text(kernel.n), size_text(kernel.k));
  };
  const auto by_config = [](const cache::Entry& entry) { return config_text(jit::kernel_facts(entry.facts).config); };
  const auto by_compiler = [](const cache::Entry& entry) { return compiler_text(entry.facts); };
  return "<h2>What it holds</h2>\n" + group_table("family", groups_of(entries, by_family), use_known) +
         group_table("N x K", groups_of(entries, by_shape), use_known) +
         group_table("configuration", groups_of(entries, by_config), use_known) +
         group_table("compiler", groups_of(entries, by_compiler), use_known);
}

// A histogram of the entries: each counts for the first bound that its value does not exceed; the last class has no
// bound.
template <class ValueOf, std::size_t Count>
std::string classes(const char* title, const Entries& entries, const std::array<std::int64_t, Count>& bounds,
                    ValueOf value_of, std::string (*shown)(std::int64_t)) {
  std::vector<Bar> bars;
  for (const std::int64_t bound : bounds) bars.push_back({(bound == 0 ? "" : "up to ") + shown(bound)});
  bars.push_back({"more"});
  for (const cache::Entry& entry : entries) {
    const auto place = std::lower_bound(bounds.begin(), bounds.end(), std::int64_t{value_of(entry)});
    ++bars[static_cast<std::size_t>(place - bounds.begin())].value;
  }
  for (Bar& bar : bars) bar.shown = std::to_string(bar.value);
  return html_bars(title, bars);
}

// A histogram of the entries by day, the latest days only.
template <class TimeOf>
std::string days(const char* title, const Entries& entries, TimeOf time_of) {
  std::map<std::string, std::int64_t> counts;
  for (const cache::Entry& entry : entries) ++counts[day_of(time_of(entry))];
  std::vector<Bar> bars;
  std::int64_t earlier = 0;
  for (auto day = counts.rbegin(); day != counts.rend(); ++day) {
    if (bars.size() < most_days) {
      bars.push_back({day->first, day->second, std::to_string(day->second)});
    } else {
      earlier += day->second;
    }
  }
  if (earlier > 0) bars.push_back({"earlier", earlier, std::to_string(earlier)});
  return html_bars(title, bars);
}

std::string charts(const Entries& entries, bool use_known) {
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  const auto size = [](std::int64_t value) { return size_of(value); };
  constexpr std::int64_t kib = 1024;
  std::string text = "<h2>Resources, age and use</h2>\n<div class=\"charts\">\n";
  text += classes(
      "Registers per thread", entries, std::array<std::int64_t, 5>{64, 96, 128, 168, 255},
      [](const cache::Entry& entry) { return jit::kernel_facts(entry.facts).registers; }, number);
  text += classes(
      "Spilled per thread", entries, std::array<std::int64_t, 4>{0, 64, 256, kib},
      [](const cache::Entry& entry) { return jit::kernel_facts(entry.facts).spill_bytes; }, size);
  text += classes(
      "Shared memory per block", entries, std::array<std::int64_t, 5>{0, 48 * kib, 100 * kib, 164 * kib, 227 * kib},
      [](const cache::Entry& entry) { return jit::kernel_facts(entry.facts).smem_bytes; }, size);
  text += days("Made on (UTC)", entries, [](const cache::Entry& entry) { return entry.facts.created; });
  if (use_known) {
    text += days("Last used on (UTC)", entries, [](const cache::Entry& entry) { return entry.last_used; });
    text += classes(
        "Hits", entries, std::array<std::int64_t, 5>{0, 1, 10, 100, 1000},
        [](const cache::Entry& entry) { return entry.hits; }, number);
  }
  return text + "</div>\n";
}

std::string largest_section(Entries entries, bool use_known) {
  const std::size_t all = entries.size();
  sort_entries(entries, entry_order("size").value(), true);
  if (entries.size() > most_rows) entries.resize(most_rows);
  HtmlTable table({"key", "family", "arch", ">N", ">K", "configuration", ">registers", ">spill", ">smem",
                   ">compiled in", ">size", "made", "last used", ">hits"});
  for (const cache::Entry& entry : entries) {
    const cache::Facts& facts = entry.facts;
    const jit::KernelFacts kernel = jit::kernel_facts(facts);
    table.add({entry.key.hex().substr(0, shown_digits), short_text(kernel.family), short_text(facts.arch),
               size_text(kernel.n), size_text(kernel.k), config_text(kernel.config), std::to_string(kernel.registers),
               size_of(kernel.spill_bytes), size_of(kernel.smem_bytes), milliseconds_text(facts.compile_ms),
               size_of(entry.bytes), day_of(facts.created), use_known ? day_of(entry.last_used) : "?",
               use_known ? std::to_string(entry.hits) : "?"});
  }
  return "<h2>Entries</h2>\n" + cut_note(all, most_rows, "largest") + table.text();
}

std::string coverage_section(const std::vector<warmup::CoverageRecord>& records) {
  HtmlTable table({"recorded", "problems", "M", "arch", "compilers", "templates", "executed on", ">kernels"});
  for (const warmup::CoverageRecord& one : records) {
    const warmup::Subject& subject = one.subject;
    table.add({day_of(one.recorded), problems_text(subject.problems), range_text(subject.problems),
               target_text(one, records), jit::compilers_text(one.compilers),
               one.current ? "this build's" : "another build's", subject.executed ? subject.executed->device : "-",
               std::to_string(one.kernels)});
  }
  return "<h2>What it is complete for</h2>\n" + (records.empty() ? "<p>Nothing is recorded.</p>\n" : table.text());
}

std::string damage_section(const cache::Survey& survey, const cache::Stats& stats) {
  std::string text = "<h2>Damage</h2>\n";
  text += fmt::format("<p>{} files in objects/ look damaged; {} were moved to quarantine/ before.</p>\n",
                      survey.damaged.size(), stats.quarantined);
  if (stats.quarantine_files > 0) {
    text += fmt::format("<p>quarantine/ holds {}, {}.</p>\n", count_text(stats.quarantine_files, "file"),
                        size_of(stats.quarantine_bytes));
  }
  if (!survey.index_problem.empty()) text += fmt::format("<p class=\"note\">{}</p>\n", html_text(survey.index_problem));
  if (survey.damaged.empty()) return text;
  HtmlTable table({"damaged"});
  for (std::size_t i = 0; i < std::min(survey.damaged.size(), most_rows); ++i) table.add({survey.damaged[i]});
  return text + cut_note(survey.damaged.size(), most_rows, "first") + table.text() +
         "<p><code>cubinet cache verify --repair</code> moves them to quarantine/.</p>\n";
}

int report(const CacheOptions& options, const std::string& file, const std::string& root) {
  if (const auto outside = check_outside("FILE", file, root); !outside) {
    return report_error(outside.error(), options.json, exit_usage);
  }
  auto cabinet = open_cabinet(root);
  if (!cabinet) return report_error(cabinet.error(), options.json, exit_failed);
  const auto survey = cabinet->survey();
  if (!survey) return report_error(survey.error(), options.json, exit_failed);
  const cache::Stats stats = cabinet->stats(*survey);
  note_shortfalls(*survey);
  const std::string page = report_page(cabinet->root().string(), *survey, stats);
  if (const auto written = util::replace_file(util::system_calls(), file, {page}); !written) {
    return report_error(written.error(), options.json, exit_failed);
  }
  if (options.json) {
    print_object(Json{{"file", file}, {"bytes", page.size()}, {"entries", stats.entries}});
  } else {
    print(fmt::format("{}: {}\n", one_line(file), count_text(stats.entries, "entry")));
  }
  return exit_done;
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string escaped;
  for (const char c : one_line(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

HtmlTable::HtmlTable(const std::vector<std::string>& headers) : text_("<div class=\"scroll\"><table>\n<tr>") {
  for (const std::string& header : headers) {
    right_.push_back(header.starts_with('>'));
    text_ += fmt::format("<th{}>{}</th>", right_.back() ? " class=\"r\"" : "",
                         html_text(std::string_view(header).substr(right_.back() ? 1 : 0)));
  }
  text_ += "</tr>\n";
}

void HtmlTable::add(const std::vector<std::string>& cells) {
  text_ += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    text_ += fmt::format("<td{}>{}</td>", right_[i] ? " class=\"r\"" : "", html_text(cells[i]));
  }
  text_ += "</tr>\n";
}

std::string html_bars(std::string_view title, const std::vector<Bar>& bars) {
  constexpr double longest = 1000;
  std::int64_t largest = 1;
  for (const Bar& bar : bars) largest = std::max(largest, bar.value);
  std::string text = fmt::format("<div class=\"chart\"><h3>{}</h3>\n", html_text(title));
  for (const Bar& bar : bars) {
    const double length =
        longest * static_cast<double>(std::max<std::int64_t>(bar.value, 0)) / static_cast<double>(largest);
    text += fmt::format(
        "<div class=\"bar\"><span>{}</span><svg viewBox=\"0 0 1000 12\" preserveAspectRatio=\"none\" "
        "aria-hidden=\"true\"><rect width=\"{:.1f}\" height=\"12\"/></svg><span>{}</span></div>\n",
        html_text(bar.label), length, html_text(bar.shown));
  }
  return text + "</div>\n";
}

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<title>{}</title>\n<style>{}</style></head>\n<body>\n{}</body></html>\n",
      html_text(title), style_sheet, body);
}

std::string report_page(const std::string& root, const cache::Survey& survey, const cache::Stats& stats) {
  const bool use_known = survey.index_problem.empty();
  const Entries& entries = survey.entries;
  std::string body =
      fmt::format("<h1>Cubinet cabinet</h1>\n<p class=\"path\">{}</p>\n<div class=\"cards\">\n", html_text(root));
  body += card("entries", std::to_string(stats.entries)) + card("on disk", size_of(stats.bytes)) +
          card("hits", use_known ? std::to_string(stats.hits) : "unknown") +
          card("to compile them all", milliseconds_text(stats.compile_ms)) +
          card("damaged", std::to_string(stats.damaged)) + "</div>\n";
  if (!entries.empty())
    body += groups_section(entries, use_known) + charts(entries, use_known) + largest_section(entries, use_known);
  body += coverage_section(warmup::read_records(stats.coverage, survey.entries)) + damage_section(survey, stats);
  return html_page("Cubinet cabinet " + root, body);
}

void add_cache_report(Command cache) {
  const auto file = std::make_shared<std::string>();
  const auto action = [file](const CacheOptions& options, const std::string& root) {
    return report(options, *file, root);
  };
  add_root_command(cache, "report", "Write an HTML page about the whole cabinet", report_help, action)
      .option("FILE", *file, "The page to write; an existing file is replaced")
      .required()
      .not_empty("the name of the file is empty");
}

}  // namespace cubinet::tools
