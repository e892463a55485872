// Constants of one specialization, and what follows from them: thread roles, sizes, and the map of shared memory.
//
// Constants (namespace cubinet::constants, written by the host before it includes the family's file):
//   kN, kK            columns and depth of the problem; 0: a run-time value
//   kBlockTokens      most tokens of a tile        kTokenStep    granularity of a tile's token count
//   kBlockColumns     columns of a CTA's tile      kStages       depth of the operand pipeline
//   kCluster          CTAs that share tokens       kRasterBand   order of tiles, see locate() in scheduler.cuh
//   kLargestFirst     order of tiles               kPrefetchWeights
//   kTokensOnM        which operand lies on the M side of wgmma: tokens, or else weights
// Constants (namespace cubinet::arithmetic, defined by the family's main loop before it includes this file):
//   kElementBytes     of A and B                   kScaled       tokens and weights come with scales
#pragma once

#include "ptx/types.cuh"
#include "shared/gemm.cuh"

namespace cubinet {

using namespace constants;
using namespace sm90;
using arithmetic::kElementBytes;
using arithmetic::kScaled;

constexpr TileConfig kConfig{kBlockTokens, kTokenStep,    kBlockColumns,    kStages,    kCluster,
                             kRasterBand,  kLargestFirst, kPrefetchWeights, kTokensOnM, kScaled};

constexpr int kConsumerWarpgroups = consumer_warpgroups(kConfig);
constexpr int kConsumers = kConsumerWarpgroups * kWarpgroup;
constexpr int kThreads = threads_per_cta(kConfig);
constexpr int kWarps = kThreads / 32;
constexpr int kProducerWarp = kConsumers / 32;
constexpr int kSchedulerWarp = kProducerWarp + 1;

// Registers per thread, for setmaxnreg. Two consumer warpgroups: 128 * 40 + 256 * 232 registers, from the 168 per
// thread that the launch bounds leave at entry. Three: 128 * 32 + 384 * 160, from 128 per thread. With 8 registers
// less, ptxas computes all descriptors of a K block before its first wgmma, and the tensor core waits for them.
constexpr int kProducerRegisters = kConsumerWarpgroups == 2 ? 40 : 32;
constexpr int kConsumerRegisters = kConsumerWarpgroups == 2 ? 232 : 160;
constexpr int kLaterScans = kConsumerWarpgroups == 2 ? 2 : 1;  // row blocks read at a time, as these registers allow

constexpr int kStageDepth = stage_depth(kElementBytes);  // elements of K
static_assert((kTokensOnM ? kBlockTokens : kBlockColumns) % kWarpgroupRows == 0 && kConsumerWarpgroups >= 2 &&
                  kConsumerWarpgroups <= 3,
              "64 rows of the M side per consumer warpgroup");
static_assert(kBlockColumns % 64 == 0 && kBlockColumns <= 256, "whole chunks of the epilogue");
static_assert(kBlockTokens % kTokenStep == 0 && kBlockTokens <= 256 && kTokenStep % 16 == 0, "token instances");
static_assert(kTokenStep % (8 * kCluster) == 0, "a CTA's share of a token box is whole swizzle atoms");

constexpr int kWeightStageBytes = weight_stage_bytes(kConfig);
constexpr int kStageBytes = stage_bytes(kConfig);

constexpr int kScaleStageBytes = scale_stage_bytes(kConfig);
constexpr int kScaleTurnBytes = kStages * kScaleStageBytes;

// A consumer warpgroup holds 64 rows of the M side by all of the N side: chunks of 32 FP32 accumulators per thread.
constexpr int kChunkAccumulators = kChunkTokens * kChunkColumns / kWarpgroup;
constexpr int kChunks = chunks(kConfig);
constexpr int kAccumulators = kChunks * kChunkAccumulators;
constexpr int kChunkBuffers = chunk_buffers(kConfig);  // per consumer warpgroup

constexpr bool kTailsApart = tails_apart(kConfig);
constexpr int kScanBlocks = 1024;  // row blocks that all warps scan together at the start

using Control = ControlBlock<kStages, max_pieces(kConfig)>;
using Parameters = ParameterBlock<token_boxes(kConfig)>;

constexpr int kOddScalesEmpty = (2 * kStages + 1) * 8;  // bytes from stage_full[0] to scales_empty[1]

constexpr int kScaleOffset = scale_offset(kConfig);
constexpr int kChunkOffset = chunk_offset(kConfig);
constexpr int kControlOffset = control_offset(kConfig);
constexpr int kSharedBytes = dynamic_smem_bytes(kConfig);
static_assert(kSharedBytes == kControlOffset + static_cast<int>(sizeof(Control)), "the host computes the same size");
static_assert(sizeof(Parameters) == scalars_offset(token_boxes(kConfig)) + 64, "the host fills the same structure");
static_assert(kSharedBytes <= 227 * 1024, "shared memory of an SM");
static_assert(kScanBlocks * 4 <= kChunkOffset, "the first scan borrows the stages");

CUBINET_DEVICE int columns_of(const Parameters& p) { return kN ? static_cast<int>(kN) : p.n; }
CUBINET_DEVICE int depth_of(const Parameters& p) { return kK ? static_cast<int>(kK) : p.k; }

CUBINET_DEVICE int ceil_div(int a, int b) { return (a + b - 1) / b; }

// Distance in floats from one K block's token scales to the next.
CUBINET_DEVICE long long scale_rows(const Parameters& p) { return (static_cast<long long>(p.rows) + 3) & ~3; }

// Column tiles, counted in clusters.
CUBINET_DEVICE int column_tiles(const Parameters& p) { return ceil_div(columns_of(p), kBlockColumns * kCluster); }

}  // namespace cubinet
