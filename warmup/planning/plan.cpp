#include "warmup/planning/plan.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace cubinet::warmup {
namespace {

// Adds a range that does not begin before the present ones; extends the last one if they overlap or are adjacent.
void append(std::vector<MRange>& ranges, MRange next) {
  if (!ranges.empty() && ranges.back().last >= next.first - 1) {
    ranges.back().last = std::max(ranges.back().last, next.last);
  } else {
    ranges.push_back(next);
  }
}

using Collected = std::map<jit::KernelSpec, std::vector<PlannedUse>>;

void add_use(std::vector<PlannedUse>& uses, const Problem& problem, MRange range) {
  if (uses.empty() || !(uses.back().problem == problem)) uses.push_back({problem, {}});
  append(uses.back().m_ranges, range);
}

void collect(const ProblemRange& wanted, const PlanRequest& request, const jit::Registry& families,
             Collected& kernels) {
  const auto& [problem, range] = wanted;
  if (request.specialized) {
    for (const jit::Selection& selection : families.selections(problem, range, request.target)) {
      add_use(kernels[selection.spec], problem, selection.range);
    }
  }
  if (request.generic) add_use(kernels[families.generic(problem, request.target)], problem, range);
  for (const jit::KernelSpec& spec : families.companions(problem, request.target)) {
    add_use(kernels[spec], problem, range);
  }
}

std::int64_t first_m(const PlannedKernel& kernel) {
  const auto earlier = [](const PlannedUse& a, const PlannedUse& b) {
    return a.m_ranges.front().first < b.m_ranges.front().first;
  };
  return std::min_element(kernel.uses.begin(), kernel.uses.end(), earlier)->m_ranges.front().first;
}

bool comes_before(const PlannedKernel& a, const PlannedKernel& b) {
  const std::int64_t first_a = first_m(a);
  const std::int64_t first_b = first_m(b);
  return std::tie(a.spec.family_name(), a.spec.n, a.spec.k, first_a, a.spec.constants) <
         std::tie(b.spec.family_name(), b.spec.n, b.spec.k, first_b, b.spec.constants);
}

}  // namespace

Expected<void> check_request(const PlanRequest& request, const jit::Registry& families) {
  if (auto known = jit::check_architecture(request.target.architecture); !known) return known;
  if (request.problems.empty()) return fail(ErrorCode::invalid_argument, "there is no problem to plan for");
  if (request.target.sms < 1) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the number of SMs must be at least 1, not {}", request.target.sms));
  }
  for (const auto& [problem, range] : request.problems) {
    if (range.first < 1 || range.last < range.first || range.last > largest_m()) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("M from {} to {} is not a range within 1 to {}", range.first, range.last, largest_m()));
    }
    if (auto allowed = families.can_run(problem, request.target); !allowed) {
      Error error = std::move(allowed).error();
      error.message = fmt::format("{}: {}", jit::describe(problem), error.message);
      return fail(std::move(error));
    }
  }
  return {};
}

std::vector<ProblemRange> over_range(const std::vector<Problem>& problems, MRange range) {
  std::vector<ProblemRange> ranges;
  for (const Problem& problem : problems) ranges.push_back({problem, range});
  return ranges;
}

std::vector<ProblemRange> merged(const std::vector<ProblemRange>& problems) {
  std::vector<std::pair<Problem, std::vector<MRange>>> distinct;
  for (const auto& [problem, range] : problems) {
    const auto same = [&wanted = problem](const auto& one) { return one.first == wanted; };
    auto found = std::find_if(distinct.begin(), distinct.end(), same);
    if (found == distinct.end()) found = distinct.insert(found, {problem, {}});
    found->second.push_back(range);
  }
  std::vector<ProblemRange> result;
  for (auto& [problem, ranges] : distinct) {
    std::sort(ranges.begin(), ranges.end(), [](MRange a, MRange b) { return a.first < b.first; });
    std::vector<MRange> whole;
    for (const MRange range : ranges) append(whole, range);
    for (const MRange range : whole) result.push_back({problem, range});
  }
  return result;
}

MRange whole_range(const std::vector<ProblemRange>& problems) {
  if (problems.empty()) return {};
  MRange whole = problems.front().range;
  for (const ProblemRange& one : problems) {
    whole = {std::min(whole.first, one.range.first), std::max(whole.last, one.range.last)};
  }
  return whole;
}

Expected<Plan> make_plan(const PlanRequest& request, const jit::Registry& families) {
  if (auto sound = check_request(request, families); !sound) return propagate(sound);
  Collected kernels;
  for (const ProblemRange& wanted : merged(request.problems)) collect(wanted, request, families, kernels);

  Plan plan;
  for (auto& [spec, uses] : kernels) plan.kernels.push_back({spec, std::move(uses)});
  std::sort(plan.kernels.begin(), plan.kernels.end(), comes_before);
  return plan;
}

}  // namespace cubinet::warmup
