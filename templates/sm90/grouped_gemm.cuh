// The grouped GEMM kernel of all families: D = A * B^T for each group, persistent and warp-specialized. A tile is some
// tokens (rows of A) by some columns (rows of B). One of the two lies on the M side of wgmma, 64 rows for each consumer
// warpgroup. The other lies on the N side, where the work is proportional to its size in steps of 8. With tokens on N a
// tile of few tokens costs little. With tokens on M a thread's results belong to only two tokens.
//
// Roles in a CTA: two or three consumer warpgroups, a producer warp (TMA), and a scheduler warp.
#pragma once

#include "epilogue.cuh"
#include "layout.cuh"
#include "pipeline.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/sync.cuh"
#include "ptx/tma.cuh"
#include "scheduler.cuh"
#include "segments.cuh"

namespace cubinet {

// The loop of a consumer thread: multiplies and stores every tile until the scheduler ends the kernel.
template <class Arithmetic, class Rows>
CUBINET_DEVICE void consume(const Parameters& p, Control& control, u32 shared, int thread) {
  Staging staging;
  staging.warpgroup = thread / kWarpgroup;
  staging.thread = thread % kWarpgroup;
  staging.buffers = shared + kChunkOffset + staging.warpgroup * kChunkBuffers * kChunkBytes;
  TileRing ring;
  Stage stage;
#pragma unroll 1
  for (;;) {
    const Tile tile = ring.take(control);
    if (tile.tokens == 0) break;
    if (kTokensOnM && staging.warpgroup * kWarpgroupRows >= tile.tokens) {
      pass_tile(p, control, stage, thread & 31);
      continue;
    }
    float accumulators[kAccumulators];
#pragma unroll
    for (int i = 0; i < kAccumulators; ++i) accumulators[i] = 0.0f;
    Arithmetic::multiply(p, control, shared, stage, tile, staging.warpgroup, thread & 31, accumulators);
    Epilogue::store<Rows>(p, tile, accumulators, staging);
  }
  ptx::bulk_wait_group_all();
}

CUBINET_DEVICE void init_barriers(Control& control) {
#pragma unroll 1
  for (int i = 0; i < kStages; ++i) {
    ptx::mbarrier_init(ptx::shared_address(&control.stage_full[i]), 1);
    ptx::mbarrier_init(ptx::shared_address(&control.stage_empty[i]), kConsumers / 32 * kCluster);
  }
  for (int i = 0; kScaled && i < 2; ++i) {
    ptx::mbarrier_init(ptx::shared_address(&control.scales_empty[i]), kConsumers);
  }
#pragma unroll 1
  for (int i = 0; i < kTileSlots; ++i) {
    ptx::mbarrier_init(ptx::shared_address(&control.tile_full[i]), 1);
    ptx::mbarrier_init(ptx::shared_address(&control.tile_empty[i]), kConsumers + 1);
  }
  ptx::fence_mbarrier_init();
}

// Prefetches the weights that this CTA probably needs first into the L2 while the rows are still being scanned. The
// guess is right if every group has rows and one token tile; otherwise the prefetch is useless but harmless.
CUBINET_DEVICE void prefetch_first_weights(const Parameters& p, u32 cluster, u32 rank, int lane) {
  const int columns = column_tiles(p);
  const int group = static_cast<int>(cluster) / columns;
  const int column = (static_cast<int>(cluster) % columns * kCluster + static_cast<int>(rank)) * kBlockColumns;
  if (group < p.groups && lane < kStages && lane * kStageDepth < depth_of(p)) {
    ptx::tma_prefetch_l2(&p.weights, lane * kStageDepth, group * columns_of(p) + column);
  }
}

template <class Arithmetic, class Rows>
CUBINET_DEVICE void grouped_gemm(const Parameters& p) {
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  Control& control = *reinterpret_cast<Control*>(shared_memory + kControlOffset);
  const u32 shared = ptx::shared_address(shared_memory);
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const u32 rank = kCluster > 1 ? ptx::cluster_cta_rank() : 0;
  const u32 cluster = blockIdx.x / kCluster, clusters = gridDim.x / kCluster;

  if (thread == kConsumers) init_barriers(control);
  if (kPrefetchWeights && warp == kSchedulerWarp) {
    prefetch_first_weights(p, cluster, rank, lane);
  }
  int* borrowed = reinterpret_cast<int*>(shared_memory);
  Rows::scan_together(p, borrowed, warp, lane);
  __syncthreads();
  int position = 0, segments = 0;
  if (warp == kSchedulerWarp) segments = Rows::fill(p, control, position, borrowed, lane);
  ptx::fence_proxy_async_shared();
  __syncthreads();  // from here on TMA writes the borrowed memory, as stages of the pipeline
  if constexpr (kCluster > 1) ptx::cluster_sync();

  if (thread >= kConsumers) {
    ptx::setmaxnreg_dec<kProducerRegisters>();
    if (warp == kProducerWarp && lane == 0) {
      produce<Rows>(p, control, shared, rank);
    } else if (warp == kSchedulerWarp) {
      schedule<Rows>(p, control, position, segments, static_cast<int>(cluster), static_cast<int>(clusters), rank, lane);
    }
  } else {
    ptx::setmaxnreg_inc<kConsumerRegisters>();
    consume<Arithmetic, Rows>(p, control, shared, thread);
  }
  if constexpr (kCluster > 1) {
    __syncwarp();
    ptx::cluster_sync();  // a CTA must not exit while another may still write to its shared memory
  }
}

}  // namespace cubinet
