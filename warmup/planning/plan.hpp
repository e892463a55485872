// The plan: the exact, finite set of kernels that some problems need over a range of M.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cubinet/cubinet.hpp"
#include "jit/families/registry.hpp"
#include "jit/kernel_spec.hpp"
#include "util/expected.hpp"

namespace cubinet::warmup {

struct PlanRequest {
  std::vector<ProblemRange> problems;
  jit::Target target;
  bool specialized = true;  // the kernels that are selected
  bool generic = false;     // the generic kernels of the problems' types and layouts
};

// Whether a plan can be made. Errors: invalid_argument for no problem and for a range of M that is empty or leaves
// [1, largest_m()]; unsupported for an architecture or a problem that no kernel serves.
Expected<void> check_request(const PlanRequest& request, const jit::Registry& families = jit::families());

// Each problem with the same range of M.
std::vector<ProblemRange> over_range(const std::vector<Problem>& problems, MRange range);

// Ranges of one problem that overlap or touch become one. Problems are in the order of their first occurrence, the
// ranges of each in ascending order.
std::vector<ProblemRange> merged(const std::vector<ProblemRange>& problems);

// The range from the smallest to the largest M of all problems; {1, 1} if there are none.
MRange whole_range(const std::vector<ProblemRange>& problems);

// A kernel and the M for which one problem selects it. Two problems that differ only in `groups` give two uses of one
// spec.
struct PlannedUse {
  Problem problem;
  std::vector<MRange> m_ranges;  // ascending, disjoint, not adjacent
};

struct PlannedKernel {
  jit::KernelSpec spec;
  std::vector<PlannedUse> uses;  // at least one; one per problem, in the order of the request
};

struct Plan {
  // Distinct, ordered by family, N, K, the first M that selects the kernel, and its constants.
  std::vector<PlannedKernel> kernels;
};

// Every kernel that `families` select for some M of the range, and no other; if asked for, the generic kernel of each
// type and layout, which can stand in for any of them; and the companion kernels that the problems need. Generic and
// companion kernels serve their problems over their whole ranges. A problem that is given twice is planned once, for
// all M of both. Errors: those of check_request().
Expected<Plan> make_plan(const PlanRequest& request, const jit::Registry& families = jit::families());

}  // namespace cubinet::warmup
