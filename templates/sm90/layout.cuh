// What follows from the constants of a specialization: sizes, thread roles, and the map of shared memory. The host
// computes threads and shared memory by the same formulas (jit/selector.cpp).
//
// Constants (namespace cubinet::constants, written by the specializer before the family is included):
//   kN, kK            columns and depth of the problem; 0 leaves them to run time
//   kBlockTokens      most tokens of a tile        kTokenStep    granularity of a tile's token count
//   kBlockColumns     columns of a CTA's tile      kStages       depth of the operand pipeline
//   kCluster          CTAs that share tokens       kRasterBand   see scheduler.cuh
//   kLargestFirst     order of tiles               kPrefetchWeights
//   kTokensOnM        which operand lies on the M side of wgmma: tokens, or else weights
// Constants (namespace cubinet::arithmetic, given by the family's arithmetic before it includes this):
//   kElementBytes     of A and B                   kScaled       tokens and weights come with scales
#pragma once

#include "ptx/types.cuh"

namespace cubinet {

using namespace constants;
using arithmetic::kElementBytes;
using arithmetic::kScaled;

constexpr int kWarpgroup = 128;
constexpr int kWarpgroupRows = 64;  // wgmma's M
constexpr int kConsumerWarpgroups = (kTokensOnM ? kBlockTokens : kBlockColumns) / kWarpgroupRows;
constexpr int kConsumers = kConsumerWarpgroups * kWarpgroup;
constexpr int kThreads = kConsumers + kWarpgroup;
constexpr int kWarps = kThreads / 32;
constexpr int kProducerWarp = kConsumers / 32;
constexpr int kSchedulerWarp = kProducerWarp + 1;

// setmaxnreg: 128 * 40 + 256 * 232 registers, the 168 per thread that the launch bounds leave at entry; or 128 * 32 +
// 384 * 160, of 128 per thread. With 8 registers less ptxas computes all descriptors of a K block before its first
// wgmma, and the tensor core waits.
constexpr int kProducerRegisters = kConsumerWarpgroups == 2 ? 40 : 32;
constexpr int kConsumerRegisters = kConsumerWarpgroups == 2 ? 232 : 160;
constexpr int kLaterScans = kConsumerWarpgroups == 2 ? 2 : 1;  // row blocks read at a time, as these registers allow

// A row of an operand stage is 128 bytes of K, the width of the 128-byte swizzle.
constexpr int kStageRowBytes = 128;
constexpr int kStageDepth = kStageRowBytes / kElementBytes;  // elements of K
static_assert((kTokensOnM ? kBlockTokens : kBlockColumns) % kWarpgroupRows == 0 && kConsumerWarpgroups >= 2 &&
                  kConsumerWarpgroups <= 3,
              "64 rows of the M side per consumer warpgroup");
static_assert(kBlockColumns % 64 == 0 && kBlockColumns <= 256, "whole chunks of the epilogue");
static_assert(kBlockTokens % kTokenStep == 0 && kBlockTokens <= 256 && kTokenStep % 16 == 0, "token instances");
static_assert(kTokenStep % (8 * kCluster) == 0, "a CTA's share of a token box is whole swizzle atoms");

constexpr int kTokenBoxes = kBlockTokens / kTokenStep;  // one tensor map per token count
constexpr int kWeightStageBytes = kBlockColumns * kStageRowBytes;
constexpr int kTokenStageBytes = kBlockTokens * kStageRowBytes;
constexpr int kStageBytes = kWeightStageBytes + kTokenStageBytes;

// Scales of a stage's tokens, one float each, in a ring twice as long as that of the stages.
constexpr int kScaleStageBytes = kScaled ? kBlockTokens * 4 : 0;
constexpr int kScaleTurnBytes = kStages * kScaleStageBytes;

// The epilogue stages chunks of 64 tokens by 64 columns of bf16.
constexpr int kChunkTokens = 64;
constexpr int kChunkColumns = 64;
constexpr int kChunkBytes = kChunkTokens * kChunkColumns * 2;

// A consumer warpgroup holds 64 rows of the M side by all of the N side: chunks of 32 FP32 accumulators per thread.
constexpr int kChunkAccumulators = kChunkTokens * kChunkColumns / kWarpgroup;
constexpr int kChunks = ((kTokensOnM ? kBlockColumns : kBlockTokens) + 63) / 64;
constexpr int kAccumulators = kChunks * kChunkAccumulators;
constexpr int kChunkBuffers = kTokensOnM ? kChunks : 2;  // per consumer warpgroup

constexpr int kRowBlock = 128;     // rows of the contiguous layout that share one label
constexpr int kMaxRuns = 96;       // runs that a window of the schedule can hold
constexpr bool kTailsApart = kTokensOnM && kLargestFirst;  // a run's last, smaller tiles are scheduled on their own
constexpr int kMaxPieces = kTailsApart ? 2 * kMaxRuns : kMaxRuns;
constexpr int kScanBlocks = 1024;  // row blocks that all warps scan together at the start
constexpr int kSizeClasses = 16;   // of tiles, in steps of 16 tokens
constexpr int kTileSlots = 4;      // decoded tiles in flight between scheduler and the other roles

// A stretch of rows of one group, to be cut into token tiles.
struct Run {
  int first_row;
  int rows;
  int group;
  int has_holes;  // rows labelled -1 may lie between valid ones: stores look at the labels
};

// A tile as the scheduler hands it out. tokens == 0 ends the kernel.
struct Tile {
  int first_row;
  int tokens;  // valid rows
  int column;  // first of this CTA's kBlockColumns columns
  int group;
  int has_holes;
  int padding[3];
};

constexpr int kOddScalesEmpty = (2 * kStages + 1) * 8;  // from stage_full[0] to scales_empty[1]

struct Control {
  u64 stage_full[kStages];
  u64 stage_empty[kStages];
  u64 scales_empty[2];  // kScaled: of even and odd turns of the stages
  u64 tile_full[kTileSlots];
  u64 tile_empty[kTileSlots];
  Tile tiles[kTileSlots];
  Run runs[kMaxRuns];
  int first_tile[kMaxPieces + 1];  // by position in `order`; the last one counts all tiles
  unsigned char order[kMaxPieces];
  int tile_counts[4 * kSizeClasses];
  int scratch[32];  // row blocks of a later window
};

constexpr int kScaleOffset = kStages * kStageBytes;
constexpr int kChunkOffset = (kScaleOffset + 2 * kScaleTurnBytes + 1023) / 1024 * 1024;
constexpr int kControlOffset = kChunkOffset + kConsumerWarpgroups * kChunkBuffers * kChunkBytes;
constexpr int kSharedBytes = kControlOffset + static_cast<int>(sizeof(Control));
static_assert(kSharedBytes <= 227 * 1024, "shared memory of an SM");
static_assert(kScanBlocks * 4 <= kChunkOffset, "the first scan borrows the stages");

// Kernel parameters. The host fills the same structure (jit/launch.cpp).
struct Parameters {
  TensorMap weights;              // (groups * N, K), boxes of kStageDepth x kBlockColumns
  TensorMap output;               // (rows, N), boxes of 64 x 64, or 64 x 16 (epilogue.cuh)
  TensorMap tokens[kTokenBoxes];  // (rows, K), boxes of kStageDepth x (i + 1) * kTokenStep / kCluster
  bf16* d;
  const int* row_info;  // contiguous: a label per row; masked: valid rows per group
  int rows;             // contiguous: M; masked: capacity
  int groups;
  int n;  // read where kN or kK is 0
  int k;
  int stream_weights;          // load the weights with the evict-first policy
  const float* token_scales;   // kScaled: K block c of row r at c * scale_rows + r; masked: per group
  const float* weight_scales;  // kScaled: (groups, ceil(N / 128), K / 128)
};

constexpr int kScaleColumns = 128;  // columns of D, and elements of K, that share a scale

CUBINET_DEVICE int columns_of(const Parameters& p) { return kN ? static_cast<int>(kN) : p.n; }
CUBINET_DEVICE int depth_of(const Parameters& p) { return kK ? static_cast<int>(kK) : p.k; }

CUBINET_DEVICE int ceil_div(int a, int b) { return (a + b - 1) / b; }

// From one K block's token scales to the next.
CUBINET_DEVICE long long scale_rows(const Parameters& p) { return (static_cast<long long>(p.rows) + 3) & ~3; }

// Column tiles, counted in clusters.
CUBINET_DEVICE int column_tiles(const Parameters& p) { return ceil_div(columns_of(p), kBlockColumns * kCluster); }

}  // namespace cubinet
