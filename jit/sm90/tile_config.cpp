#include "jit/sm90/tile_config.hpp"

#include <fmt/format.h>

namespace cubinet::jit {
namespace {

constexpr std::int32_t kWarpgroup = 128;     // threads
constexpr std::int32_t kWarpgroupRows = 64;  // of the M side of wgmma, per consumer warpgroup

std::int32_t consumer_warpgroups(const TileConfig& config) {
  return (config.tokens_on_m ? config.block_tokens : config.block_columns) / kWarpgroupRows;
}

constexpr std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

}  // namespace

// Those of the consumers, and one for producer and scheduler.
std::int32_t threads_per_cta(const TileConfig& config) { return (consumer_warpgroups(config) + 1) * kWarpgroup; }

std::int32_t dynamic_smem_bytes(const TileConfig& config) {
  constexpr std::int32_t kRowBytes = 128;
  constexpr std::int32_t kChunkBytes = 64 * 64 * 2;
  constexpr std::int32_t kSlots = 4, kTileBytes = 32, kRuns = 96, kRunBytes = 16, kBarrierBytes = 8;
  const std::int32_t stages = config.stages * (config.block_columns + config.block_tokens) * kRowBytes;
  const std::int32_t scales = config.scaled ? 2 * config.stages * config.block_tokens * 4 : 0;
  const std::int32_t buffers = config.tokens_on_m ? config.block_columns / 64 : 2;
  const std::int32_t barriers = 2 * (config.stages + kSlots + 1) * kBarrierBytes;
  const std::int32_t pieces = config.tokens_on_m && config.largest_first ? 2 * kRuns : kRuns;
  const std::int32_t runs = kRuns * kRunBytes + (pieces + 1) * 4 + pieces + 4 * 16 * 4 + 32 * 4;
  const std::int32_t control = barriers + kSlots * kTileBytes + runs;
  return static_cast<std::int32_t>(round_up(stages + scales, 1024) + round_up(control, 8)) +
         consumer_warpgroups(config) * buffers * kChunkBytes;
}

std::int64_t compile_weight(const TileConfig& config) {
  if (config.tokens_on_m) return std::int64_t{4} * config.block_columns;
  return std::int64_t{config.block_tokens} / config.token_step * config.block_tokens;
}

std::string name(const TileConfig& config) {
  return fmt::format("t{}x{}u{}s{}c{}b{}{}{}{}", config.block_tokens, config.block_columns, config.token_step,
                     config.stages, config.cluster, config.raster_band, config.largest_first ? "l" : "",
                     config.prefetch_weights ? "p" : "", config.tokens_on_m ? "m" : "");
}

}  // namespace cubinet::jit
