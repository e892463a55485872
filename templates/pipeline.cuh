// The operand pipeline: a ring of stages in shared memory, each one K block of 128 bytes for the weights and the
// tokens of a tile. The producer fills a stage by TMA, the consumers release it.
#pragma once

#include "layout.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/sync.cuh"
#include "ptx/tma.cuh"
#include "scheduler.cuh"

namespace cubinet {

struct Stage {
  int index = 0;
  u32 parity = 0;

  __device__ __forceinline__ void advance() {
    if (++index == kStages) {
      index = 0;
      parity ^= 1;
    }
  }
};

// The first of the barriers by which this lane of a consumer warp releases stages, where it does: lane i does for the
// cluster's i-th CTA.
CUBINET_DEVICE bool releases_stages(int lane) { return lane < kCluster; }
CUBINET_DEVICE u32 first_empty(Control& control, int lane) {
  const u32 empty = ptx::shared_address(&control.stage_empty[0]);
  return kCluster > 1 && releases_stages(lane) ? ptx::mapa(empty, static_cast<u32>(lane)) : empty;
}

// A consumer warp's part in a tile that it has no rows of: it releases the stages unread.
CUBINET_DEVICE void pass_tile(const Parameters& p, Control& control, Stage& stage, int lane) {
  const u32 empty = first_empty(control, lane);
#pragma unroll 1
  for (int blocks = depth_of(p) / kStageDepth; blocks > 0; --blocks) {
    ptx::mbarrier_wait(ptx::shared_address(&control.stage_full[stage.index]), stage.parity);
    if (releases_stages(lane)) ptx::mbarrier_arrive_cluster(empty + stage.index * 8);
    stage.advance();
  }
}

// The producer thread's life: every K block of every tile.
template <class Rows>
CUBINET_DEVICE void produce(const Parameters& p, Control& control, u32 stages, u32 rank) {
  int blocks = depth_of(p) / kStageDepth;
  asm volatile("" : "+r"(blocks));  // a constant count would be unrolled, pragma or not, for nothing
  const u64 policy = ptx::policy_evict_first();
  const bool stream = p.stream_weights != 0;
  TileRing ring;
  Stage stage;
  for (;;) {
    const Tile tile = ring.take<false>(control, 0);
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
        ptx::bulk_load(stages + kScaleOffset + stage.index * kScaleStageBytes, scales, full, scale_bytes);
        scales += scale_rows(p);
      }
      stage.advance();
    }
  }
}

}  // namespace cubinet
