// The result of comparing one output with the reference. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cubinet/problem.hpp"
#include "warmup/execution/verification_kernels.hpp"

namespace cubinet::warmup {

// A NaN that no arithmetic unit produces. It distinguishes an element that was not written from a computed NaN.
inline constexpr std::uint16_t kPoison = 0xffa5;

// The largest difference() of a group that counts as correct.
double allowed_difference(DataType type);

struct Verdict {
  std::vector<GroupSums> groups;
  WriteCounts writes;              // in D
  std::uint64_t guard_writes = 0;  // elements changed in the guard bands of D and of the workspace
  double worst_difference = 0;     // largest difference() of a group
  float largest_error = 0;         // largest |x - y|
  float largest_share = 0;         // largest |x - y| divided by the allowed error; above 1 an element is wrong
  std::string complaint;           // the first thing that is wrong; empty if the output is right

  [[nodiscard]] bool right() const { return complaint.empty(); }
};

// Computes the members that follow from `groups`, `writes` and `guard_writes`. `listed` is the number of elements that
// should have been compared; fewer are a complaint, so that a reference that did not run does not count as agreement.
// `allowed` is the result of allowed_difference().
void conclude(Verdict& verdict, std::uint64_t listed, double allowed);

}  // namespace cubinet::warmup
