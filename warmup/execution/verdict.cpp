#include "warmup/execution/verdict.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "jit/problems.hpp"

namespace cubinet::warmup {
namespace {

std::string complaint_about(const GroupSums& sums, std::size_t group, double allowed) {
  if (sums.nans > 0) return fmt::format("group {}: {} of {} elements are NaN", group, sums.nans, sums.compared);
  if (!(difference(sums) < allowed)) {
    return fmt::format("group {}: differs from the reference by {:.3g}, {:.0e} is allowed", group, difference(sums),
                       allowed);
  }
  if (sums.outliers > 0) {
    return fmt::format("group {}: {} of {} elements are wrong, by up to {:.3g}, {:.3g} times what is allowed", group,
                       sums.outliers, sums.compared, largest_error(sums), largest_share(sums));
  }
  return {};
}

std::string complaint_about(const Verdict& verdict, std::uint64_t listed, double allowed) {
  std::uint64_t compared = 0;
  for (const GroupSums& sums : verdict.groups) compared += sums.compared;
  if (compared != listed) return fmt::format("the reference compared {} of {} elements", compared, listed);
  if (verdict.guard_writes > 0)
    return fmt::format("{} elements written outside the output or the workspace", verdict.guard_writes);
  if (verdict.writes.stray > 0) return fmt::format("{} elements written in rows not valid", verdict.writes.stray);
  if (verdict.writes.unwritten > 0) {
    return fmt::format("{} elements of valid rows not written", verdict.writes.unwritten);
  }
  for (std::size_t group = 0; group < verdict.groups.size(); ++group) {
    auto complaint = complaint_about(verdict.groups[group], group, allowed);
    if (!complaint.empty()) return complaint;
  }
  return {};
}

}  // namespace

double allowed_difference(DataType type) { return jit::has_scales(type) ? 1e-3 : 1e-5; }

void conclude(Verdict& verdict, std::uint64_t listed, double allowed) {
  for (const GroupSums& sums : verdict.groups) {
    verdict.worst_difference = std::max(verdict.worst_difference, difference(sums));
    verdict.largest_error = std::max(verdict.largest_error, largest_error(sums));
    verdict.largest_share = std::max(verdict.largest_share, largest_share(sums));
  }
  verdict.complaint = complaint_about(verdict, listed, allowed);
}

}  // namespace cubinet::warmup
