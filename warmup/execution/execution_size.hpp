// How large an execution of a kernel may be within a memory budget. Pure functions, no device.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "jit/families/registry.hpp"
#include "warmup/planning/plan.hpp"

namespace cubinet::warmup {

// The driver takes memory from the device in steps of this many bytes.
constexpr std::int64_t device_granule() { return std::int64_t{2} << 20; }

// Bytes of device memory that an allocation of `bytes` takes.
constexpr std::int64_t charged_bytes(std::int64_t bytes) {
  return (bytes + device_granule() - 1) / device_granule() * device_granule();
}

// The sum, or the largest number if it overflows. Neither is negative.
constexpr std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return b > most - a ? most : a + b;
}

struct ExecutionSize {
  Problem problem;           // the problem of the use, possibly with fewer groups
  std::int64_t rows = 0;     // M in the contiguous layout, the capacity in the masked layout
  std::int64_t m = 0;        // M, or the rows expected per group, that is passed to the selection
  std::int64_t first_m = 0;  // the smallest that selects the configuration too
  bool forced = false;       // for m and first_m another configuration would be selected
  std::int64_t bytes = 0;    // size of the executor's allocation

  friend bool operator==(const ExecutionSize&, const ExecutionSize&) = default;
};

// The largest execution of the configuration that fits in `available` bytes, in this order of preference:
//   1. the problem's own number of groups and the largest M of the use's ranges. In the masked layout the kernel does
//      not depend on the capacity, so only the capacity is reduced;
//   2. fewer groups, as many as fit, and the largest M that selects the configuration for that number of groups;
//   3. a configuration that the selector would not choose: as many groups as fit with one row, then as many rows.
// `config` is KernelSpec::config of the kernel. None if one row of one group does not fit. The search is a bisection,
// because the size grows with M and with the number of groups. Precondition: the use has a range of M.
std::optional<ExecutionSize> choose_size(const PlannedUse& use, const std::string& config, std::int64_t available,
                                         const jit::Target& target = {},
                                         const jit::Registry& families = jit::families());

// The same for a kernel: that of its first use that fits.
std::optional<ExecutionSize> choose_size(const PlannedKernel& kernel, std::int64_t available, const jit::Target& target,
                                         const jit::Registry& families);

// The fewest bytes for which choose_size has a result; the largest number if no kernel can run.
std::int64_t smallest_charge(const Problem& problem);

// The fewest bytes of memory in which the kernel can be executed, without its code.
std::int64_t smallest_charge(const PlannedKernel& kernel, const jit::Registry& families);

// Whether the kernel is the one that quantizes to FP8, which has an executor of its own.
bool is_quantization(const jit::KernelSpec& spec, const jit::Registry& families);

}  // namespace cubinet::warmup
