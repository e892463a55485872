// What follows from the constants of a specialization: sizes, thread roles, and the map of shared memory. The host
// computes threads and shared memory by the same formulas (jit/selector.cpp).
//
// Constants (namespace cubinet::constants, written by the specializer before the family is included):
//   kN, kK            columns and depth of the problem; 0 leaves them to run time
//   kBlockTokens      most tokens of a tile        kTokenStep    granularity of a tile's token count
//   kBlockColumns     columns of a CTA's tile      kStages       depth of the operand pipeline
//   kCluster          CTAs that share tokens       kRasterBand   see scheduler.cuh
//   kLargestFirst     order of tiles               kPrefetchWeights
#pragma once

#include "ptx/types.cuh"

namespace cubinet {

using namespace constants;

constexpr int kWarpgroup = 128;
constexpr int kConsumerWarpgroups = 2;
constexpr int kConsumers = kConsumerWarpgroups * kWarpgroup;
constexpr int kThreads = kConsumers + kWarpgroup;
constexpr int kWarps = kThreads / 32;
constexpr int kProducerWarp = kConsumers / 32;
constexpr int kSchedulerWarp = kProducerWarp + 1;

// setmaxnreg: 128 * 56 + 256 * 224 registers, within the 168 per thread that the launch bounds leave at entry.
constexpr int kProducerRegisters = 56;
constexpr int kConsumerRegisters = 224;

// A row of an operand stage is 128 bytes of K, the width of the 128-byte swizzle.
constexpr int kStageRowBytes = 128;
constexpr int kWarpgroupColumns = 64;  // wgmma's M
static_assert(kBlockColumns == kConsumerWarpgroups * kWarpgroupColumns, "one 64-column half per consumer warpgroup");
static_assert(kBlockTokens % kTokenStep == 0 && kBlockTokens <= 256 && kTokenStep % 16 == 0, "token instances");
static_assert(kTokenStep % (8 * kCluster) == 0, "a CTA's share of a token box is whole swizzle atoms");

constexpr int kTokenBoxes = kBlockTokens / kTokenStep;  // one tensor map per token count
constexpr int kWeightStageBytes = kBlockColumns * kStageRowBytes;
constexpr int kTokenStageBytes = kBlockTokens * kStageRowBytes;
constexpr int kStageBytes = kWeightStageBytes + kTokenStageBytes;

// The epilogue stages 64 tokens by 64 columns of bf16 at a time, twice per consumer warpgroup.
constexpr int kChunkTokens = 64;
constexpr int kChunkBytes = kChunkTokens * kWarpgroupColumns * 2;
constexpr int kChunkBuffers = 2;

// FP32 accumulators of a thread, in whole chunks: half a tile's tokens each, since 128 threads hold 64 columns.
constexpr int kAccumulators = (kBlockTokens + kChunkTokens - 1) / kChunkTokens * (kChunkTokens / 2);

constexpr int kRowBlock = 128;     // rows of the contiguous layout that share one label
constexpr int kMaxRuns = 96;       // runs that a window of the schedule can hold
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

struct Control {
  u64 stage_full[kStages];
  u64 stage_empty[kStages];
  u64 tile_full[kTileSlots];
  u64 tile_empty[kTileSlots];
  Tile tiles[kTileSlots];
  Run runs[kMaxRuns];
  int first_tile[kMaxRuns + 1];  // by position in `order`; the last one counts all tiles
  unsigned char order[kMaxRuns];
  int tile_counts[4 * kSizeClasses];
  int scratch[32];  // row blocks of a later window
};

constexpr int kChunkOffset = kStages * kStageBytes;
constexpr int kControlOffset = kChunkOffset + kConsumerWarpgroups * kChunkBuffers * kChunkBytes;
constexpr int kSharedBytes = kControlOffset + static_cast<int>(sizeof(Control));
static_assert(kSharedBytes <= 227 * 1024, "shared memory of an SM");
static_assert(kScanBlocks * 4 <= kChunkOffset, "the first scan borrows the stages");

// Kernel parameters. The host fills the same structure (jit/launch.cpp).
struct Parameters {
  TensorMap weights;              // (groups * N, K), boxes of 64 x 128
  TensorMap output;               // (rows, N), boxes of 64 x 64
  TensorMap tokens[kTokenBoxes];  // (rows, K), boxes of 64 x (i + 1) * kTokenStep / kCluster
  bf16* d;
  const int* row_info;  // contiguous: a label per row; masked: valid rows per group
  int rows;             // contiguous: M; masked: capacity
  int groups;
  int n;  // read where kN or kK is 0
  int k;
  int stream_weights;  // load the weights with the evict-first policy
};

CUBINET_DEVICE int columns_of(const Parameters& p) { return kN ? static_cast<int>(kN) : p.n; }
CUBINET_DEVICE int depth_of(const Parameters& p) { return kK ? static_cast<int>(kK) : p.k; }

CUBINET_DEVICE int ceil_div(int a, int b) { return (a + b - 1) / b; }

// Column tiles, counted in clusters.
CUBINET_DEVICE int column_tiles(const Parameters& p) { return ceil_div(columns_of(p), kBlockColumns * kCluster); }

}  // namespace cubinet
