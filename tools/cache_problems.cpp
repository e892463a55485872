// cubinet cache problems: what engines on this root asked for.
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
    "Each problem that an engine started with, prepared, or missed in a launch on this cabinet as its\n"
    "first one is recorded, with all M that were asked for. `cubinet warmup --recorded` compiles what\n"
    "they need again, after an upgrade for one. The JSON is a file for `--from` of another machine's\n"
    "warmup. ASKED is the latest start, preparation or miss, to the day: an engine that has run since\n"
    "then is not seen. After a model was retired: --forget --unasked-for 30d.\n"
    "A record that is damaged, or of a build that knows more, is named on standard error.\n\n"
    "Example:\n  cubinet cache problems --cache /opt/kernels\n"
    "  cubinet cache problems --json > problems.json\n"
    "  cubinet warmup --recorded --from problems.json --cache /opt/kernels\n\n"
    "With --json:\n"
    "  version       1, of this list\n"
    "  cache         the cabinet's folder\n"
    "  problems      what is listed (with --forget, what was removed): {dtype, layout, n, k, groups,\n"
    "                m_range, arch, asked (seconds since 1970)}\n"
    "  skipped       records that are not taken: a list of {name, reason}\n";

struct ProblemsOptions {
  std::optional<std::int64_t> unasked_for;  // seconds
  bool forget = false;
};

// Leaves those that were not asked for lately. A time ahead of the clock counts as now.
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

// Most reasons name the file.
std::string text_of(const cache::SkippedFile& one) {
  return one.reason.find(one.name) != std::string::npos ? one.reason : fmt::format("{}: {}", one.name, one.reason);
}

// One that cannot be removed stops none of the others.
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
  const Command command =
      add_cache_command(cache, "problems", "List what engines on this cabinet asked for", problems_help, action);
  const auto store = [wanted](const std::string& text) {
    const auto seconds = util::parse_duration(text);
    if (!seconds) return seconds.error().message;
    wanted->unasked_for = *seconds;
    return std::string();
  };
  command.parsed("--unasked-for", store, "Only problems that no engine asked for in the last DURATION, as in 30d")
      .type_name("DURATION");
  command.flag("--forget", wanted->forget,
               "Remove the records of what is listed; an engine that asks again records it");
}

}  // namespace cubinet::tools
