// The selector: which tile configuration serves a problem at a given M. Pure arithmetic; the same
// functions drive the planner and the launch, so what is planned is what is launched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cubinet/problem.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// Everything that shapes a kernel's code besides N and K. "Tokens" are rows of A, "columns" are
// rows of B (columns of D). One of the two sits on the M side of wgmma, 64 for each of the two or three
// consumer warpgroups, the other on its N side.
struct TileConfig {
  std::int32_t block_tokens = 0;   // most tokens of a tile, at most 256; 128 or 192 on the M side
  std::int32_t token_step = 0;     // a tile's token count is rounded up to a multiple of this
  std::int32_t block_columns = 0;  // columns of a CTA's tile; 128
  std::int32_t stages = 0;         // depth of the shared-memory pipeline, in K blocks of 128 bytes
  std::int32_t cluster = 1;        // CTAs that share a token tile by TMA multicast: 1 or 2
  std::int32_t raster_band = 0;    // 0: token tiles fastest; else column tiles per band, fastest
  bool largest_first = false;      // schedule tiles with many tokens first
  bool prefetch_weights = false;   // prefetch the CTA's first weight tile into L2 at start
  bool tokens_on_m = false;        // tokens on the M side, else weights
  bool scaled = false;             // a stage holds scales of its tokens; follows from the data type

  friend auto operator<=>(const TileConfig&, const TileConfig&) = default;
};

// What of the target a selection may depend on. Today's does not: its configurations are right for any number of SMs.
struct Target {
  std::int32_t num_sms = 132;
};

// Bytes of an element of A and B.
std::int64_t element_bytes(DataType type);

// The largest M that a plan takes, as does the command that makes kernels: 16 Mi rows, far above any batch, and few
// enough to walk. Above it nothing else is selected than for it.
inline constexpr std::int64_t largest_m = std::int64_t{1} << 24;

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

// Threads of a CTA, and the dynamic shared memory that a launch must ask for, in bytes. The templates derive
// the same figures from the same constants (templates/layout.cuh); a test compares them.
std::int32_t threads_per_cta(const TileConfig& config);
std::int32_t dynamic_smem_bytes(const TileConfig& config);

// How long a kernel takes to compile beside others: its code holds a loop per token count, each as large as its count.
std::int64_t compile_weight(const TileConfig& config);

// A short stable name such as "t256x128u64s4c2b8", for listings.
std::string name(const TileConfig& config);

}  // namespace cubinet::jit
