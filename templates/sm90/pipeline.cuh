// The operand pipeline: a ring of stages in shared memory. A stage holds one K block of 128 bytes of a tile's weights
// and tokens. The producer fills a stage by TMA, and the consumers release it.
//
// Only the tensor core reads a stage, so one lane of a warp releases it. Token scales are read by every thread, and
// each thread must release what it has read. Doing that for every K block would cost 3 %. So token scales have a ring
// of their own, twice as long, whose halves are released once per turn of the stages.
#pragma once

#include "layout.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/sync.cuh"
#include "ptx/tma.cuh"
#include "scheduler.cuh"

namespace cubinet {

// A role's position in the ring of stages.
struct Stage {
  int index = 0;
  u32 parity = 0;  // of the turn: how often the ring was walked through, modulo 2

  __device__ __forceinline__ void advance() {
    if (++index == kStages) {
      index = 0;
      parity ^= 1;
    }
  }
};

// What a consumer thread needs to walk through the stages of a tile. Lane i of a warp releases stages to the i-th CTA
// of the cluster.
struct StageWalk {
  u32 full;      // mbarrier of stage 0; that of the next stage is 8 bytes further
  u32 empty;     // likewise, in the CTA to which this thread releases
  u32 releases;  // whether this thread releases stages
  u32 blocks;    // K blocks of a tile, at least 1
};

CUBINET_DEVICE StageWalk stage_walk(const Parameters& p, Control& control, int lane) {
  StageWalk walk;
  walk.full = ptx::shared_address(&control.stage_full[0]);
  walk.empty = ptx::shared_address(&control.stage_empty[0]);
  walk.releases = lane < kCluster;
  if (kCluster > 1 && walk.releases) walk.empty = ptx::mapa(walk.empty, static_cast<u32>(lane));
  walk.blocks = static_cast<u32>(depth_of(p) / kStageDepth);
  return walk;
}

// The same walk inside an asm statement that holds a loop over K. It uses the registers `stage`, `parity`, `stages`,
// `blocks` and `tokens`, which mean the same as above, and the predicates `ready`, `wraps`, `more` and `larger`.
// clang-format off

// Waits until the stage of `BARRIER` is full.
#define CUBINET_AWAIT(LABEL, BARRIER)                                                                                 \
  "WAIT" LABEL ":\n"                                                                                                  \
  "mbarrier.try_wait.parity.shared::cta.b64 ready, [" BARRIER "], parity;\n"                                          \
  "@!ready bra WAIT" LABEL ";\n"

// Advances to the next stage. Sets `more` if the tile has one.
#define CUBINET_ADVANCE_STAGE                                                                                         \
  "add.u32 stage, stage, 1;\n"                                                                                        \
  "setp.eq.u32 wraps, stage, stages;\n"                                                                               \
  "@wraps mov.u32 stage, 0;\n"                                                                                        \
  "@wraps xor.b32 parity, parity, 1;\n"                                                                               \
  "sub.u32 blocks, blocks, 1;\n"                                                                                      \
  "setp.ne.u32 more, blocks, 0;\n"

// At the end of a turn, releases its half of the ring of scales. `parity` is that of the next turn already.
#define CUBINET_RELEASE_SCALES(FULL, OFFSET)                                                                          \
  "mad.lo.s32 turn, parity, -8, " FULL ";\n"                                                                          \
  "@wraps mbarrier.arrive.shared::cta.b64 _, [turn + " OFFSET "];\n"

// Releases a stage to the producer, if the predicate is set.
#define CUBINET_RELEASE(WHETHER, BARRIER)                                                                             \
  "@" WHETHER " mbarrier.arrive.shared::cluster.b64 _, [" BARRIER "];\n"

// Jumps past an instance for fewer tokens than the tile has.
#define CUBINET_SKIP_IF_LARGER(TOKENS)                                                                                \
  "setp.gt.u32 larger, tokens, " #TOKENS ";\n"                                                                        \
  "@larger bra AFTER" #TOKENS ";\n"

// clang-format on

// Called by a consumer warp for a tile of which it has no rows: releases the stages unread.
CUBINET_DEVICE void pass_tile(const Parameters& p, Control& control, Stage& stage, int lane) {
  const StageWalk walk = stage_walk(p, control, lane);
#pragma unroll 1
  for (u32 blocks = walk.blocks; blocks > 0; --blocks) {
    ptx::mbarrier_wait(walk.full + stage.index * 8, stage.parity);
    if (walk.releases) ptx::mbarrier_arrive_cluster(walk.empty + stage.index * 8);
    if (kScaled && stage.index == kStages - 1) {
      ptx::mbarrier_arrive(ptx::shared_address(&control.scales_empty[stage.parity]));
    }
    stage.advance();
  }
}

// The loop of the producer thread: loads every K block of every tile until the scheduler ends the kernel.
template <class Rows>
CUBINET_DEVICE void produce(const Parameters& p, Control& control, u32 stages, u32 rank) {
  int blocks = depth_of(p) / kStageDepth;
  asm volatile("" : "+r"(blocks));  // a constant count would be unrolled in spite of the pragma, without gain
  const u64 policy = ptx::policy_evict_first();
  const bool stream = p.stream_weights != 0;
  TileRing ring;
  Stage stage;
  u32 turn_pair = 0;  // parity of pairs of turns
  for (;;) {
    const Tile tile = ring.take(control);
    if (tile.tokens == 0) return;
    const int box = (tile.tokens - 1) / kTokenStep;
    const TensorMap* token_map = &p.tokens[box];
    const int share = (box + 1) * (kTokenStep / kCluster);  // token rows that this CTA loads for the cluster
    const u32 scale_bytes = kScaled ? (tile.tokens + 3) / 4 * 16 : 0;
    const u32 bytes = kWeightStageBytes + (box + 1) * kTokenStep * kStageRowBytes + scale_bytes;
    const float* scales = kScaled ? Rows::scales_of(p, tile) : nullptr;
    const int weight_row = tile.group * columns_of(p) + tile.column;
    const int token_row = tile.first_row + static_cast<int>(rank) * share;
    const u32 token_offset = kWeightStageBytes + rank * share * kStageRowBytes;
#pragma unroll 1
    for (int block = 0; block < blocks; ++block) {
      const u32 full = ptx::shared_address(&control.stage_full[stage.index]);
      if (kScaled && stage.index == 0) {
        ptx::mbarrier_wait(ptx::shared_address(&control.scales_empty[stage.parity]), turn_pair ^ 1);
        turn_pair ^= stage.parity;
      }
      ptx::mbarrier_wait(ptx::shared_address(&control.stage_empty[stage.index]), stage.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(full, bytes);
      const u32 address = stages + stage.index * kStageBytes;
      if (stream) {
        ptx::tma_load_hinted(address, &p.weights, full, block * kStageDepth, weight_row, policy);
      } else {
        ptx::tma_load(address, &p.weights, full, block * kStageDepth, weight_row);
      }
      if constexpr (kCluster == 1) {
        ptx::tma_load(address + token_offset, token_map, full, block * kStageDepth, token_row);
      } else {
        ptx::tma_load_multicast(address + token_offset, token_map, full, block * kStageDepth, token_row,
                                static_cast<u16>((1 << kCluster) - 1));
      }
      if constexpr (kScaled) {
        const u32 slot = stage.parity * kScaleTurnBytes + stage.index * kScaleStageBytes;
        ptx::bulk_load(stages + kScaleOffset + slot, scales, full, scale_bytes);
        scales += scale_rows(p);
      }
      stage.advance();
    }
  }
}

}  // namespace cubinet
