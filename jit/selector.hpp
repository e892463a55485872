// The selector: which tile configuration serves a problem at a given M. Pure arithmetic; the same
// functions drive the planner and the launch, so what is planned is what is launched.
#pragma once

#include <cstdint>
#include <vector>

#include "cubinet/problem.hpp"
#include "jit/sm90/tile_config.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// What of the target a selection may depend on. Today's does not: its configurations are right for any number of SMs.
struct Target {
  std::int32_t num_sms = 132;
};

// Bytes of an element of A and B.
std::int64_t element_bytes(DataType type);

// The largest M that a plan takes, as does the command that makes kernels: 16 Mi rows, far above any batch, and few
// enough to walk. Above it nothing else is selected than for it.
inline constexpr std::int64_t largest_m = cubinet::largest_m();

// Whether the kernels take this problem at all; the error names the rule that it breaks.
// K % 64 == 0 (BF16) or K % 128 == 0 (FP8), N % 8 == 0, both positive; 1 <= groups <= 65536.
Expected<void> can_run(const Problem& problem);

// The configuration for M (see MRange for its meaning per layout). Precondition: can_run(problem)
// holds and m >= 1.
TileConfig select(const Problem& problem, std::int64_t m, const Target& target);

// The configuration of the kernel that has N and K at run time and stands in for any other of the problem's type and
// layout. Precondition: can_run(problem).
TileConfig generic_config(const Problem& problem);

// A stretch of M over which `select` answers the same.
struct Selection {
  MRange range;
  TileConfig config;
};

// The whole of `range`, in ascending order, cut exactly where the selection changes.
// Preconditions as for select; range.first >= 1, range.first <= range.last.
std::vector<Selection> selections(const Problem& problem, MRange range, const Target& target);

}  // namespace cubinet::jit
