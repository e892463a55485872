#include "tools/coverage_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/table.hpp"

namespace cubinet::tools {
namespace {

// So many problems of a record are named.
constexpr std::size_t most_named = 4;

std::string kind_text(const Problem& problem) {
  return fmt::format("{} {}", jit::data_type_name(problem.data_type), jit::layout_name(problem.layout));
}

bool is_generic(const Problem& problem) { return problem.n == 0; }

std::string shape_text(const Problem& problem) {
  return fmt::format("{} x {} in {}", problem.n, problem.k, count_text(problem.groups, "group"));
}

std::string range_text(MRange range) { return fmt::format("{} to {}", range.first, range.last); }

bool share_a_range(const std::vector<ProblemRange>& problems) {
  return std::all_of(problems.begin(), problems.end(),
                     [&](const ProblemRange& one) { return one.range == problems.front().range; });
}

}  // namespace

std::string problems_text(const std::vector<ProblemRange>& problems) {
  const bool alike = share_a_range(problems);
  std::string text;
  std::string kind_before;
  for (std::size_t i = 0; i < std::min(problems.size(), most_named); ++i) {
    const auto& [problem, range] = problems[i];
    const std::string kind = kind_text(problem);
    text += i == 0 ? "" : ", ";
    if (kind != kind_before) text += is_generic(problem) ? kind : kind + ' ';
    if (!is_generic(problem)) text += shape_text(problem);
    if (!alike) text += fmt::format(" (M {})", range_text(range));
    kind_before = kind;
  }
  if (problems.size() > most_named) text += fmt::format(" and {} more", problems.size() - most_named);
  const bool generic =
      std::all_of(problems.begin(), problems.end(), [](const ProblemRange& one) { return is_generic(one.problem); });
  return generic ? fmt::format("the generic kernels ({})", text) : text;
}

std::string range_text(const std::vector<ProblemRange>& problems) {
  return problems.empty() || share_a_range(problems) ? range_text(warmup::whole_range(problems)) : "by problem";
}

Json problems_array(const std::vector<ProblemRange>& problems) {
  Json array = Json::array();
  for (const auto& [problem, range] : problems) {
    array.push_back(Json{{"dtype", jit::data_type_name(problem.data_type)},
                         {"layout", jit::layout_name(problem.layout)},
                         {"n", problem.n},
                         {"k", problem.k},
                         {"groups", problem.groups},
                         {"m_range", {range.first, range.last}}});
  }
  return array;
}

std::string target_text(const warmup::CoverageRecord& record, const std::vector<warmup::CoverageRecord>& records) {
  const std::int32_t num_sms = record.subject.num_sms;
  const bool alike = std::all_of(records.begin(), records.end(),
                                 [&](const warmup::CoverageRecord& other) { return other.subject.num_sms == num_sms; });
  return alike ? record.subject.architecture : fmt::format("{} with {} SMs", record.subject.architecture, num_sms);
}

}  // namespace cubinet::tools
