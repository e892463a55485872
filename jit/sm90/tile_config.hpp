// The tile configuration of a Hopper kernel, and what follows from it alone.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

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

// Threads of a CTA, and the dynamic shared memory that a launch must ask for, in bytes. The templates derive
// the same figures from the same constants (templates/sm90/layout.cuh); a test compares them.
std::int32_t threads_per_cta(const TileConfig& config);
std::int32_t dynamic_smem_bytes(const TileConfig& config);

// How long a kernel takes to compile beside others: its code holds a loop per token count, each as large as its count.
std::int64_t compile_weight(const TileConfig& config);

// A short stable name such as "t256x128u64s4c2b8", for listings.
std::string name(const TileConfig& config);

}  // namespace cubinet::jit
