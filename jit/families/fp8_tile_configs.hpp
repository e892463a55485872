// The tile configurations of the FP8 families of sm_90a. The partial sums of a K block take registers beside the
// accumulators, so tiles are smaller than those of BF16. With tokens on the M side of wgmma a thread needs the scales
// of two tokens only, and three warpgroups share the tensor core: it works while one of them scales its sums.
#pragma once

#include "jit/sm90/tile_config.hpp"

namespace cubinet::jit::fp8 {

inline constexpr sm90::TileConfig kDecode{
    .block_tokens = 96, .token_step = 16, .block_columns = 128, .stages = 6, .prefetch_weights = true, .scaled = true};

inline constexpr sm90::TileConfig kMedium{.block_tokens = 192,
                                          .token_step = 64,
                                          .block_columns = 128,
                                          .stages = 4,
                                          .largest_first = true,
                                          .prefetch_weights = true,
                                          .tokens_on_m = true,
                                          .scaled = true};

inline constexpr sm90::TileConfig kLarge{.block_tokens = 192,
                                         .token_step = 64,
                                         .block_columns = 128,
                                         .stages = 4,
                                         .raster_band = 16,
                                         .tokens_on_m = true,
                                         .scaled = true};

}  // namespace cubinet::jit::fp8
