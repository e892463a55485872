#include "warmup/planning/recorded_problems.hpp"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "jit/families/registry.hpp"
#include "jit/kernel_spec.hpp"
#include "jit/problems.hpp"
#include "util/json_text.hpp"
#include "util/text.hpp"
#include "warmup/planning/plan.hpp"

namespace cubinet::warmup {
namespace {

using util::json_object;
using util::json_string;

void sort(RecordedProblems& recorded) {
  std::ranges::sort(recorded.problems, {}, [](const RecordedProblem& one) {
    const Problem& problem = one.wanted.problem;
    return std::tie(problem.data_type, problem.layout, problem.n, problem.k, problem.groups, one.architecture);
  });
}

// Converts a record of the cabinet to a problem; an error if this build cannot plan for it.
Expected<RecordedProblem> understand(const cache::RecordedProblem& record) {
  const auto subject = jit::problem_subject_from(record.subject);
  if (!subject) return fail(ErrorCode::invalid_argument, "it is of a build that knows other problems");
  const RecordedProblem problem{{subject->problem, {record.first, record.last}}, subject->architecture, record.asked};
  return check_recorded(problem).map([&] { return problem; });
}

std::string problem_json(const RecordedProblem& one) {
  const auto& [problem, range] = one.wanted;
  return json_object({{"dtype", json_string(jit::data_type_name(problem.data_type))},
                      {"layout", json_string(jit::layout_name(problem.layout))},
                      {"n", std::to_string(problem.n)},
                      {"k", std::to_string(problem.k)},
                      {"groups", std::to_string(problem.groups)},
                      {"m_range", fmt::format("[{},{}]", range.first, range.last)},
                      {"arch", json_string(one.architecture)},
                      {"asked", std::to_string(one.asked)}});
}

}  // namespace

Expected<void> check_recorded(const RecordedProblem& problem) {
  if (auto taken = jit::families().can_run(problem.wanted.problem); !taken) return taken;
  const MRange range = problem.wanted.range;
  if (range.first >= 1 && range.first <= range.last && range.last <= largest_m()) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("M from {} to {} is not a range within 1 to {}", range.first, range.last, largest_m()));
}

Expected<RecordedProblems> recorded_in(const cache::Maintenance& cabinet) {
  auto read = cabinet.recorded_problems();
  if (!read) return propagate(read);
  RecordedProblems recorded{{}, std::move(read->skipped)};
  for (const cache::RecordedProblem& record : read->problems) {
    auto problem = understand(record);
    if (problem) {
      recorded.problems.push_back(*std::move(problem));
    } else {
      recorded.skipped.push_back({record.subject, std::move(problem.error().message), false});
    }
  }
  sort(recorded);
  return recorded;
}

Expected<RecordedProblems> read_recorded(const std::string& place) {
  std::error_code none;
  if (std::filesystem::is_directory(place, none)) return cache::Maintenance::open(place).and_then(recorded_in);
  if (!std::filesystem::exists(place, none)) {
    return fail(ErrorCode::not_found, fmt::format("there is no cabinet at {}, nor a file of recorded problems", place));
  }
  auto recorded = read_recorded_file(place);
  if (recorded) sort(*recorded);
  return recorded;
}

Expected<std::vector<ProblemRange>> problems_of(const RecordedProblems& recorded, const std::string& place) {
  std::vector<ProblemRange> problems;
  for (const RecordedProblem& one : recorded.problems) problems.push_back(one.wanted);
  if (!problems.empty()) return problems;
  if (!recorded.skipped.empty()) {
    return fail(ErrorCode::not_found,
                fmt::format("no record in {} can be used, for one: {}", place, recorded.skipped.front().reason));
  }
  return fail(
      ErrorCode::not_found,
      fmt::format("no problem is recorded in {}: an engine that starts on a root which it may write records what "
                  "it asks for",
                  place));
}

std::string subject_of(const RecordedProblem& problem) {
  return jit::to_json({problem.wanted.problem, problem.architecture});
}

std::string recorded_json(const RecordedProblems& recorded, const std::string& root) {
  std::vector<std::string> problems, skipped;
  for (const RecordedProblem& one : recorded.problems) problems.push_back(problem_json(one));
  for (const cache::SkippedFile& one : recorded.skipped) {
    skipped.push_back(json_object({{"name", json_string(one.name)}, {"reason", json_string(one.reason)}}));
  }
  return json_object({{"version", std::to_string(recorded_file_version)},
                      {"cache", json_string(root)},
                      {"problems", util::json_array(problems)},
                      {"skipped", util::json_array(skipped)}});
}

}  // namespace cubinet::warmup
