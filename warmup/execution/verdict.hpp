// What a judge says of one output. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cubinet/problem.hpp"
#include "warmup/execution/verification_kernels.hpp"

namespace cubinet::warmup {

// A NaN that no arithmetic unit makes, so that an element that was not written is told from a NaN that was computed.
inline constexpr std::uint16_t kPoison = 0xffa5;

// What is allowed of 1 - 2<x,y>/(<x,x>+<y,y>) per group.
constexpr double allowed_difference(DataType type) { return type == DataType::fp8 ? 1e-3 : 1e-5; }

struct Verdict {
  std::vector<GroupSums> groups;
  WriteCounts writes;              // in the output itself
  std::uint64_t guard_writes = 0;  // elements changed in the bands before and after it, and those of the workspace
  double worst_difference = 0;     // over the groups
  float largest_error = 0;
  float largest_share = 0;  // of what rounding explains, over the elements: above 1 an element is wrong
  std::string complaint;    // what is wrong first; empty when nothing is

  [[nodiscard]] bool right() const { return complaint.empty(); }
};

// Fills in what follows from the groups, the writes and the guards: the worst figures and the complaint. `listed`:
// elements that were to be compared. A reference that did not run must not pass for agreement.
void conclude(Verdict& verdict, std::uint64_t listed, double allowed);

}  // namespace cubinet::warmup
