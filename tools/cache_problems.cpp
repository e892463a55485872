// cubinet cache problems: lists the problems that engines on this root asked for.
#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "jit/kernel_spec.hpp"
#include "tools/cache_command.hpp"
#include "tools/cache_text.hpp"
#include "tools/output.hpp"
#include "util/clock.hpp"
#include "util/text.hpp"
#include "warmup/planning/recorded_problems.hpp"

namespace cubinet::tools {
namespace {

constexpr const char* problems_help =
    "Lists the problems that engines asked for on this cabinet: at their start, in a prepare, or in a\n"
    "launch that missed; each with all M that were asked for. Engines record them only in the root.\n"
    "`cubinet warmup --recorded` compiles their kernels again, after an upgrade for example. The JSON is\n"
    "an input file for `--from` of a warmup on another machine. ASKED is the latest start, prepare or\n"
    "miss, to the day; an engine that has been running since then does not renew it. After a model was\n"
    "retired: --forget --unasked-for 30d.\n"
    "Damaged records, and those of a newer build that this one cannot read, are named on standard error.\n\n"
    "Example:\n"
    "  cubinet cache problems --cache /opt/kernels\n"
    "  cubinet cache problems --json > problems.json\n"
    "  cubinet warmup --recorded --from problems.json --cache /opt/kernels\n\n"
    "With --json:\n"
    "  version       1, of this list\n"
    "  cache         the cabinet's folder\n"
    "  problems      the listed problems (with --forget, the removed ones): {dtype, layout, n, k, groups,\n"
    "                m_range, arch, asked (seconds since 1970)}\n"
    "  skipped       records that could not be read: a list of {name, reason}\n";

struct ProblemsOptions {
  std::optional<std::int64_t> unasked_for;  // seconds
  bool forget = false;
};

// Keeps the problems that were not asked for within --unasked-for. A time in the future counts as now.
void choose(std::vector<warmup::RecordedProblem>& problems, const ProblemsOptions& wanted) {
  if (!wanted.unasked_for) return;
  const std::int64_t now = util::system_clock().seconds();
  std::erase_if(problems, [&](const auto& one) { return now - std::min(one.asked, now) < *wanted.unasked_for; });
}

void print_problems(const warmup::RecordedProblems& recorded, const std::string& root, bool forgotten) {
  Table table({"DTYPE", "LAYOUT", ">N", ">K", ">GROUPS", "M", "ARCH", "ASKED"});
  for (const auto& [wanted, architecture, asked] : recorded.problems) {
    const auto& [problem, range] = wanted;
    table.add({jit::data_type_name(problem.data_type), jit::layout_name(problem.layout), std::to_string(problem.n),
               std::to_string(problem.k), std::to_string(problem.groups), fmt::format("{}-{}", range.first, range.last),
               short_text(architecture), age_of(asked) + " ago"});
  }
  if (!recorded.problems.empty()) print(table.text());
  const auto count = static_cast<std::int64_t>(recorded.problems.size());
  print(one_line(fmt::format("{} {} in {}", util::count_text(count, "problem"), forgotten ? "forgotten" : "recorded",
                             root)) +
        "\n");
}

// Most reasons name the file already.
std::string text_of(const cache::SkippedFile& one) {
  return one.reason.find(one.name) != std::string::npos ? one.reason : fmt::format("{}: {}", one.name, one.reason);
}

// A record that cannot be removed does not stop the others.
bool forget(const std::vector<warmup::RecordedProblem>& problems, cache::Cabinet& cabinet) {
  bool all = true;
  for (const warmup::RecordedProblem& one : problems) {
    const auto forgotten = cabinet.forget_problem(warmup::subject_of(one));
    if (forgotten) continue;
    report_error(forgotten.error(), false, exit_failed);
    all = false;
  }
  return all;
}

int show(const CacheOptions& options, const ProblemsOptions& wanted, cache::Cabinet& cabinet) {
  auto recorded = warmup::recorded_in(cabinet);
  if (!recorded) return report_error(recorded.error(), options.json, exit_failed);
  choose(recorded->problems, wanted);
  const bool done = !wanted.forget || forget(recorded->problems, cabinet);
  const std::string root = cabinet.root().string();
  if (options.json) {
    print_json(warmup::recorded_json(*recorded, root));
  } else {
    print_problems(*recorded, root, wanted.forget && done);
  }
  for (const cache::SkippedFile& one : recorded->skipped) note(text_of(one));
  return done ? exit_done : exit_failed;
}

}  // namespace

void add_cache_problems(Command cache) {
  const auto wanted = std::make_shared<ProblemsOptions>();
  const auto action = [wanted](const CacheOptions& options, cache::Cabinet& cabinet) {
    return show(options, *wanted, cabinet);
  };
  const Command command = add_cache_command(
      cache, "problems", "List the problems that engines on this cabinet asked for", problems_help, action);
  add_parsed(command, "--unasked-for", wanted->unasked_for, util::parse_duration,
             "Only problems that no engine asked for within this time, as in 30d")
      .type_name("DURATION");
  command.flag("--forget", wanted->forget,
               "Remove the listed records; an engine that asks again records the problem again");
}

}  // namespace cubinet::tools
