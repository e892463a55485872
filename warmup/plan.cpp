#include "warmup/plan.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace cubinet::warmup {
namespace {

std::string describe(const Problem& problem) {
  return fmt::format("{} N={} K={} groups={}", jit::family_of(problem), problem.n, problem.k, problem.groups);
}

Expected<void> check(const PlanRequest& request) {
  if (auto known = jit::check_architecture(request.architecture); !known) return known;
  if (request.problems.empty()) return fail(ErrorCode::invalid_argument, "there is no problem to plan for");
  const auto [first, last] = request.range;
  if (first < 1 || last < first || last > largest_m) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("M from {} to {} is not a range within 1 to {}", first, last, largest_m));
  }
  if (request.target.num_sms < 1) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the number of SMs must be at least 1, not {}", request.target.num_sms));
  }
  for (const Problem& problem : request.problems) {
    if (auto allowed = jit::can_run(problem); !allowed) {
      Error error = std::move(allowed).error();
      error.message = fmt::format("{}: {}", describe(problem), error.message);
      return tl::make_unexpected(std::move(error));
    }
  }
  return {};
}

std::vector<Problem> distinct(const std::vector<Problem>& problems) {
  std::vector<Problem> kept;
  for (const Problem& problem : problems) {
    if (std::find(kept.begin(), kept.end(), problem) == kept.end()) kept.push_back(problem);
  }
  return kept;
}

// Adds a range behind those that are there, growing the last one where they touch.
void append(std::vector<MRange>& ranges, MRange next) {
  if (!ranges.empty() && ranges.back().last + 1 == next.first) {
    ranges.back().last = next.last;
  } else {
    ranges.push_back(next);
  }
}

using Collected = std::map<jit::KernelSpec, std::vector<PlannedUse>>;

void collect_specialized(const Problem& problem, const PlanRequest& request, Collected& kernels) {
  for (const jit::Selection& selection : jit::selections(problem, request.range, request.target)) {
    auto& uses = kernels[jit::spec_for(problem, selection.config, request.architecture)];
    if (uses.empty() || !(uses.back().problem == problem)) uses.push_back({problem, {}});
    append(uses.back().m_ranges, selection.range);
  }
}

void collect(const Problem& problem, const PlanRequest& request, Collected& kernels) {
  if (request.specialized) collect_specialized(problem, request, kernels);
  if (request.generic) kernels[jit::generic_spec(problem, request.architecture)].push_back({problem, {request.range}});
  if (problem.data_type == DataType::fp8) {
    kernels[jit::quantization_spec(request.architecture)].push_back({problem, {request.range}});
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
  return std::tie(a.spec.family, a.spec.n, a.spec.k, first_a, a.spec.config) <
         std::tie(b.spec.family, b.spec.n, b.spec.k, first_b, b.spec.config);
}

}  // namespace

Expected<Plan> make_plan(const PlanRequest& request) {
  if (auto sound = check(request); !sound) return tl::make_unexpected(sound.error());
  Collected kernels;
  for (const Problem& problem : distinct(request.problems)) collect(problem, request, kernels);

  Plan plan;
  for (auto& [spec, uses] : kernels) plan.kernels.push_back({spec, std::move(uses)});
  std::sort(plan.kernels.begin(), plan.kernels.end(), comes_before);
  return plan;
}

}  // namespace cubinet::warmup
