#include "jit/selector.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

namespace cubinet::jit {
namespace {

constexpr std::int64_t kStageRowBytes = 128;  // of K in a pipeline stage
constexpr std::int64_t kColumnStep = 8;       // 16 bytes of a row of D
constexpr std::int32_t kMaxGroups = 65536;

// A rung of the ladder: `config` serves up to `rows` rows per group (inclusive).
struct Rung {
  std::int64_t rows;
  TileConfig config;
};

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// Few rows per group: bound by reading the weights; small token tiles leave room for a deep pipeline.
constexpr TileConfig kDecode{
    .block_tokens = 128, .token_step = 16, .block_columns = 128, .stages = 6, .prefetch_weights = true};
// One or two token tiles per group: fine token steps, tiles that share weights run together, large ones first.
constexpr TileConfig kMedium{.block_tokens = 256,
                             .token_step = 32,
                             .block_columns = 128,
                             .stages = 4,
                             .largest_first = true,
                             .prefetch_weights = true};
// Many rows per group: bound by arithmetic; pairs of CTAs share tokens, bands of columns stay in the L2.
constexpr TileConfig kLarge{
    .block_tokens = 256, .token_step = 64, .block_columns = 128, .stages = 4, .cluster = 2, .raster_band = 8};

// The same for FP8. The sums of a K block take registers beside the accumulators, so tiles are smaller; with tokens on
// the M side a thread needs the scales of two of them only, and three warpgroups share the tensor core, so that it
// works while one of them scales its sums.
constexpr TileConfig kFp8Decode{
    .block_tokens = 96, .token_step = 16, .block_columns = 128, .stages = 6, .prefetch_weights = true, .scaled = true};
constexpr TileConfig kFp8Medium{.block_tokens = 192,
                                .token_step = 64,
                                .block_columns = 128,
                                .stages = 4,
                                .largest_first = true,
                                .prefetch_weights = true,
                                .tokens_on_m = true,
                                .scaled = true};
constexpr TileConfig kFp8Large{.block_tokens = 192,
                               .token_step = 64,
                               .block_columns = 128,
                               .stages = 4,
                               .raster_band = 16,
                               .tokens_on_m = true,
                               .scaled = true};

constexpr std::array kContiguousLadder{Rung{2048, kMedium}, Rung{kNoLimit, kLarge}};
constexpr std::array kMaskedLadder{Rung{96, kDecode}, Rung{2048, kMedium}, Rung{kNoLimit, kLarge}};
constexpr std::array kFp8ContiguousLadder{Rung{2048, kFp8Medium}, Rung{kNoLimit, kFp8Large}};
constexpr std::array kFp8MaskedLadder{Rung{48, kFp8Decode}, Rung{2048, kFp8Medium}, Rung{kNoLimit, kFp8Large}};

std::span<const Rung> ladder(const Problem& problem) {
  const bool masked = problem.layout == Layout::masked;
  switch (problem.data_type) {
    case DataType::bf16:
      return masked ? std::span<const Rung>(kMaskedLadder) : kContiguousLadder;
    case DataType::fp8:
      return masked ? std::span<const Rung>(kFp8MaskedLadder) : kFp8ContiguousLadder;
  }
  throw std::logic_error("unknown data type");
}

// The last M that a rung serves.
std::int64_t last_m(const Problem& problem, const Rung& rung) {
  if (rung.rows == kNoLimit || problem.layout == Layout::masked) return rung.rows;
  return rung.rows * problem.groups;
}

// As errors name it; null when it is none.
const char* type_name(DataType type) {
  switch (type) {
    case DataType::bf16:
      return "BF16";
    case DataType::fp8:
      return "FP8";
  }
  return nullptr;
}

// The rung that serves M; the last one has no limit.
const Rung& rung_for(const Problem& problem, std::int64_t m) {
  const std::span<const Rung> rungs = ladder(problem);
  return *std::find_if(rungs.begin(), rungs.end() - 1, [&](const Rung& rung) { return m <= last_m(problem, rung); });
}

}  // namespace

std::int64_t element_bytes(DataType type) {
  switch (type) {
    case DataType::bf16:
      return 2;
    case DataType::fp8:
      return 1;
  }
  throw std::logic_error("unknown data type");
}

Expected<void> can_run(const Problem& problem) {
  const auto refuse = [](std::string rule) { return fail(ErrorCode::unsupported, std::move(rule)); };
  const char* type = type_name(problem.data_type);
  if (type == nullptr) return refuse(fmt::format("unknown data type {}", static_cast<int>(problem.data_type)));
  if (problem.layout != Layout::contiguous && problem.layout != Layout::masked) {
    return refuse(fmt::format("unknown layout {}", static_cast<int>(problem.layout)));
  }
  if (problem.n < 1 || problem.k < 1) {
    return refuse(fmt::format("N and K must be positive: N={}, K={}", problem.n, problem.k));
  }
  const std::int64_t depth = kStageRowBytes / element_bytes(problem.data_type);
  if (problem.k % depth != 0) {
    return refuse(fmt::format("K must be a multiple of {} for {}: K={}", depth, type, problem.k));
  }
  if (problem.n % kColumnStep != 0)
    return refuse(fmt::format("N must be a multiple of {}: N={}", kColumnStep, problem.n));
  if (problem.groups < 1 || problem.groups > kMaxGroups) {
    return refuse(fmt::format("groups must be from 1 to {}: groups={}", kMaxGroups, problem.groups));
  }
  constexpr std::int64_t kMaxCoordinate = std::numeric_limits<std::int32_t>::max();
  if (problem.k > kMaxCoordinate || problem.n > kMaxCoordinate / problem.groups) {
    return refuse(fmt::format("groups * N and K must stay below 2^31 (TMA coordinates): groups={}, N={}, K={}",
                              problem.groups, problem.n, problem.k));
  }
  return {};
}

TileConfig select(const Problem& problem, std::int64_t m, const Target& /*target*/) {
  return rung_for(problem, m).config;
}

TileConfig generic_config(const Problem& problem) { return problem.data_type == DataType::fp8 ? kFp8Medium : kMedium; }

std::vector<Selection> selections(const Problem& problem, MRange range, const Target& /*target*/) {
  std::vector<Selection> result;
  for (std::int64_t m = range.first;;) {
    const Rung& rung = rung_for(problem, m);
    const std::int64_t last = std::min(range.last, last_m(problem, rung));
    if (!result.empty() && result.back().config == rung.config) {
      result.back().range.last = last;
    } else {
      result.push_back({{m, last}, rung.config});
    }
    if (last == range.last) break;  // the successor of the largest M there is would overflow
    m = last + 1;
  }
  return result;
}

}  // namespace cubinet::jit
