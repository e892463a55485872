// The arithmetic of the BF16 families: what a consumer warpgroup does with the stages of one tile.
#pragma once

#include "layout.cuh"
#include "pipeline.cuh"
#include "ptx/wgmma.cuh"

namespace cubinet {

struct Bf16Arithmetic {
  static constexpr int kElementBytes = 2;

  // Adds this warpgroup's 64 columns times kTokens tokens, over all of K, to the first kTokens / 2 accumulators.
  template <int kTokens>
  static __device__ __forceinline__ void multiply(const Parameters& p, Control& control, u32 stages, Stage& stage,
                                                  int warpgroup, int lane, float (&d)[kAccumulators]) {
    const int blocks = depth_of(p) / kStageDepth<kElementBytes>;
    int previous = 0;
#pragma unroll 1
    for (int block = 0; block < blocks; ++block) {
      ptx::mbarrier_wait(ptx::shared_address(&control.stage_full[stage.index]), stage.parity);
      const u32 weights = stages + stage.index * kStageBytes;
      ptx::wgmma_fence();
      ptx::WgmmaBf16<kTokens>::accumulate(
          d, ptx::wgmma_descriptor(weights + warpgroup * kWarpgroupColumns * kStageRowBytes),
          ptx::wgmma_descriptor(weights + kWeightStageBytes));
      ptx::wgmma_commit_group();
      // The stage before this one is free once its wgmma is done; this one's may still run.
      ptx::wgmma_wait_group<1>();
      if (block > 0) release_stage(control, previous, lane);
      previous = stage.index;
      stage.advance();
    }
    ptx::WgmmaBf16<kTokens>::wait(d);
    release_stage(control, previous, lane);
  }
};

}  // namespace cubinet
