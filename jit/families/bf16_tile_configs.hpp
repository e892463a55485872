// The tile configurations of the BF16 families of sm_90a, weights on the M side of wgmma. docs/kernels.md has what each
// constant gains.
#pragma once

#include "jit/sm90/tile_config.hpp"

namespace cubinet::jit::bf16 {

// Few rows per group: bound by reading the weights; small token tiles leave room for a deep pipeline.
inline constexpr sm90::TileConfig kDecode{
    .block_tokens = 128, .token_step = 16, .block_columns = 128, .stages = 6, .prefetch_weights = true};

// One or two token tiles per group: fine token steps, tiles that share weights run together, large ones first.
inline constexpr sm90::TileConfig kMedium{.block_tokens = 256,
                                          .token_step = 32,
                                          .block_columns = 128,
                                          .stages = 4,
                                          .largest_first = true,
                                          .prefetch_weights = true};

// Many rows per group: bound by arithmetic; pairs of CTAs share tokens, bands of columns stay in the L2.
inline constexpr sm90::TileConfig kLarge{
    .block_tokens = 256, .token_step = 64, .block_columns = 128, .stages = 4, .cluster = 2, .raster_band = 8};

}  // namespace cubinet::jit::bf16
