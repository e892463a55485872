#include "jit/sm90/tile_config.hpp"

#include <tuple>

#include <fmt/format.h>

namespace cubinet::sm90 {
namespace {

auto fields(const TileConfig& config) {
  const auto& [tokens, step, columns, stages, cluster, band, largest_first, prefetch, tokens_on_m, scaled] = config;
  return std::tie(tokens, step, columns, stages, cluster, band, largest_first, prefetch, tokens_on_m, scaled);
}

}  // namespace

std::strong_ordering operator<=>(const TileConfig& a, const TileConfig& b) { return fields(a) <=> fields(b); }

bool operator==(const TileConfig& a, const TileConfig& b) { return fields(a) == fields(b); }

std::int64_t compile_weight(const TileConfig& config) {
  if (config.tokens_on_m) return std::int64_t{4} * config.block_columns;
  return std::int64_t{config.block_tokens} / config.token_step * config.block_tokens;
}

std::string name(const TileConfig& config) {
  return fmt::format("t{}x{}u{}s{}c{}b{}{}{}{}", config.block_tokens, config.block_columns, config.token_step,
                     config.stages, config.cluster, config.raster_band, config.largest_first ? "l" : "",
                     config.prefetch_weights ? "p" : "", config.tokens_on_m ? "m" : "");
}

}  // namespace cubinet::sm90
