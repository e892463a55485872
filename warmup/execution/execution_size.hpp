// How large an execution of a kernel may be within a budget: arithmetic, no device.
#pragma once

#include <cstdint>
#include <optional>

#include "jit/selector.hpp"
#include "warmup/planning/plan.hpp"

namespace cubinet::warmup {

// In which steps the driver takes memory from the device.
constexpr std::int64_t device_granule() { return std::int64_t{2} << 20; }

// What an allocation of `bytes` costs.
constexpr std::int64_t charged_bytes(std::int64_t bytes) {
  return (bytes + device_granule() - 1) / device_granule() * device_granule();
}

struct ExecutionSize {
  Problem problem;           // that of the use, perhaps with fewer groups
  std::int64_t rows = 0;     // M of the contiguous layout, capacity of the masked one
  std::int64_t m = 0;        // what the selector is asked with: the M, or the rows expected per group
  std::int64_t first_m = 0;  // the smallest that selects the configuration too
  bool forced = false;       // the selector would answer another configuration, for these two as well
  std::int64_t bytes = 0;    // of the executor's allocation

  friend bool operator==(const ExecutionSize&, const ExecutionSize&) = default;
};

// The largest execution of the configuration that `available` bytes pay for, in this order of preference:
//   1. the use's own groups and an M that selects the configuration, the largest such M within the use's ranges. In the
//      masked layout M only hints, so the capacity may be smaller;
//   2. fewer groups, as many as fit, and likewise the largest M that selects it for that number of groups;
//   3. the configuration forced: as many groups as fit with one row, then as many rows.
// None where a single row of a single group does not fit. Searched by bisection: the cost grows with M and with the
// groups. Precondition: the use has a range of M.
std::optional<ExecutionSize> choose_size(const PlannedUse& use, const jit::TileConfig& config, std::int64_t available,
                                         const jit::Target& target = {});

// The fewest bytes for which choose_size has an answer; the largest number there is where no kernel can run.
std::int64_t smallest_charge(const Problem& problem);

}  // namespace cubinet::warmup
