// The plan: the exact, finite set of kernels that some problems need over a range of M.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cubinet/problem.hpp"
#include "jit/kernel_spec.hpp"
#include "jit/selector.hpp"
#include "util/expected.hpp"

namespace cubinet::warmup {

struct PlanRequest {
  std::vector<Problem> problems;
  MRange range{1, 16384};
  std::string architecture = "sm_90a";
  jit::Target target;
};

// A kernel and the M for which one problem selects it. Two problems that differ in `groups` alone
// yield two uses of one spec.
struct PlannedUse {
  Problem problem;
  std::vector<MRange> m_ranges;  // ascending, disjoint, not adjacent
};

struct PlannedKernel {
  jit::KernelSpec spec;
  std::vector<PlannedUse> uses;
};

struct Plan {
  std::vector<PlannedKernel> kernels;  // distinct, in a stable order
};

// Every kernel that jit::select answers for some M of the range, and no other. An error when a problem
// cannot run, the range is empty or negative, or the architecture is unknown.
Expected<Plan> make_plan(const PlanRequest& request);

}  // namespace cubinet::warmup
