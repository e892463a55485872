// The main loop of the BF16 families: a consumer warpgroup multiplies the stages of one tile.
//
// The loop over K is one asm statement that holds an instance for each token count. The same loop in C++ around small
// wrappers computes the same, but the compiler's front end then carries every accumulator through every loop, branch
// and join, and a kernel takes one and a half times as long to compile.
#pragma once

namespace cubinet::arithmetic {
constexpr int kElementBytes = 2;
constexpr bool kScaled = false;
}  // namespace cubinet::arithmetic

#include "layout.cuh"
#include "pipeline.cuh"
#include "ptx/wgmma.cuh"

namespace cubinet {

// The inputs of the loop over K besides accumulators and stage.
struct StageLoop {
  StageWalk stages;
  u64 weights, tokens;  // descriptors in stage 0
  u32 tile_tokens;
};

template <int kBlock, int kStep>
struct Bf16Mainloop;

// clang-format off

// Multiplies 16 of K. The descriptors then advance by 32 bytes, which are 2 units.
#define CUBINET_MULTIPLY(TOKENS, REGISTERS) \
  "wgmma.mma_async.sync.aligned.m64n" #TOKENS "k16.f32.bf16.bf16 {" REGISTERS "}, a, b, accumulate, 1, 1, 0, 0;\n"
#define CUBINET_ADVANCE "add.s64 a, a, 2;\nadd.s64 b, b, 2;\n"

// The loop of one instance, skipped if the tile has more tokens. For each stage: wait until it is full, issue four
// wgmma, wait until those of the stage before are done (one group may still be running), and release the stage before to
// the producer.
#define CUBINET_INSTANCE(TOKENS, HALF)                                                                                \
  CUBINET_SKIP_IF_LARGER(TOKENS)                                                                                      \
  "STAGE" #TOKENS ":\n"                                                                                               \
  "mad.lo.u32 barrier, stage, 8, full;\n"                                                                             \
  CUBINET_AWAIT(#TOKENS, "barrier")                                                                                   \
  "mul.wide.u32 b, stage, stage_units;\n"                                                                             \
  "add.s64 a, b, first_a;\n"                                                                                          \
  "add.s64 b, b, first_b;\n"                                                                                          \
  "wgmma.fence.sync.aligned;\n"                                                                                       \
  CUBINET_MULTIPLY(TOKENS, CUBINET_REGISTERS_##HALF("%")) CUBINET_ADVANCE                                             \
  CUBINET_MULTIPLY(TOKENS, CUBINET_REGISTERS_##HALF("%")) CUBINET_ADVANCE                                             \
  CUBINET_MULTIPLY(TOKENS, CUBINET_REGISTERS_##HALF("%")) CUBINET_ADVANCE                                             \
  CUBINET_MULTIPLY(TOKENS, CUBINET_REGISTERS_##HALF("%"))                                                             \
  "wgmma.commit_group.sync.aligned;\n"                                                                                \
  "wgmma.wait_group.sync.aligned 1;\n"                                                                                \
  CUBINET_RELEASE("releases", "previous")                                                                             \
  "mad.lo.u32 previous, stage, 8, empty;\n"                                                                           \
  "and.pred releases, arrives, arrives;\n"                                                                            \
  CUBINET_ADVANCE_STAGE                                                                                               \
  "@more bra STAGE" #TOKENS ";\n"                                                                                     \
  "bra.uni DONE;\n"                                                                                                   \
  "AFTER" #TOKENS ":\n"

// Gives names to the asm operands after the accumulators, so that the instances do not depend on how many there are.
#define CUBINET_BEGIN(STAGE, PARITY, A, B, UNITS, FULL, EMPTY, ARRIVES, BLOCKS, TOKENS, STAGES)                       \
  "{\n"                                                                                                               \
  ".reg .pred accumulate, larger, ready, releases, arrives, wraps, more;\n"                                           \
  ".reg .b64 a, b, first_a, first_b;\n"                                                                               \
  ".reg .b32 stage, parity, stage_units, full, empty, blocks, tokens, stages, barrier, previous;\n"                   \
  "mov.b32 stage, " STAGE ";\nmov.b32 parity, " PARITY ";\n"                                                          \
  "mov.b64 first_a, " A ";\nmov.b64 first_b, " B ";\nmov.b32 stage_units, " UNITS ";\n"                               \
  "mov.b32 full, " FULL ";\nmov.b32 empty, " EMPTY ";\n"                                                              \
  "mov.b32 blocks, " BLOCKS ";\nmov.b32 tokens, " TOKENS ";\nmov.b32 stages, " STAGES ";\n"                           \
  "setp.ne.u32 arrives, " ARRIVES ", 0;\nsetp.eq.u32 accumulate, 0, 0;\nsetp.ne.u32 releases, 0, 0;\n"

#define CUBINET_END(STAGE, PARITY)                                                                                    \
  "DONE:\n"                                                                                                           \
  "wgmma.wait_group.sync.aligned 0;\n"                                                                                \
  CUBINET_RELEASE("releases", "previous")                                                                             \
  "mov.b32 " STAGE ", stage;\nmov.b32 " PARITY ", parity;\n"                                                          \
  "}"

#define CUBINET_MAINLOOP(BLOCK, STEP, ACCUMULATORS, BEGIN, INSTANCES, END)                                        \
  template <>                                                                                                     \
  struct Bf16Mainloop<BLOCK, STEP> {                                                                              \
    static __device__ __forceinline__ void run(float (&d)[ACCUMULATORS], Stage& stage, const StageLoop& loop) {   \
      asm volatile(BEGIN INSTANCES END                                                                            \
                   : CUBINET_OUTPUTS_##ACCUMULATORS(d), "+r"(stage.index), "+r"(stage.parity)                     \
                   : "l"(loop.weights), "l"(loop.tokens), "n"(kStageBytes / 16), "r"(loop.stages.full),           \
                     "r"(loop.stages.empty), "r"(loop.stages.releases), "r"(loop.stages.blocks),                  \
                     "r"(loop.tile_tokens), "n"(kStages)                                                          \
                   : "memory");                                                                                   \
    }                                                                                                             \
  };

// One main loop for each pair of kBlockTokens and kTokenStep that a BF16 family selects, with the numbers of the
// operands after the accumulators.
#define CUBINET_BEGIN_64 CUBINET_BEGIN("%64", "%65", "%66", "%67", "%68", "%69", "%70", "%71", "%72", "%73", "%74")
#define CUBINET_BEGIN_128 \
  CUBINET_BEGIN("%128", "%129", "%130", "%131", "%132", "%133", "%134", "%135", "%136", "%137", "%138")
#define CUBINET_STEPS_OF_16_TO_128                                                                                    \
  CUBINET_INSTANCE(16, 8) CUBINET_INSTANCE(32, 16) CUBINET_INSTANCE(48, 24) CUBINET_INSTANCE(64, 32)                  \
  CUBINET_INSTANCE(80, 40) CUBINET_INSTANCE(96, 48) CUBINET_INSTANCE(112, 56) CUBINET_INSTANCE(128, 64)
#define CUBINET_STEPS_OF_32_TO_256                                                                                    \
  CUBINET_INSTANCE(32, 16) CUBINET_INSTANCE(64, 32) CUBINET_INSTANCE(96, 48) CUBINET_INSTANCE(128, 64)                \
  CUBINET_INSTANCE(160, 80) CUBINET_INSTANCE(192, 96) CUBINET_INSTANCE(224, 112) CUBINET_INSTANCE(256, 128)
#define CUBINET_STEPS_OF_64_TO_256                                                                                    \
  CUBINET_INSTANCE(64, 32) CUBINET_INSTANCE(128, 64) CUBINET_INSTANCE(192, 96) CUBINET_INSTANCE(256, 128)

CUBINET_MAINLOOP(128, 16, 64, CUBINET_BEGIN_64, CUBINET_STEPS_OF_16_TO_128, CUBINET_END("%64", "%65"))
CUBINET_MAINLOOP(256, 32, 128, CUBINET_BEGIN_128, CUBINET_STEPS_OF_32_TO_256, CUBINET_END("%128", "%129"))
CUBINET_MAINLOOP(256, 64, 128, CUBINET_BEGIN_128, CUBINET_STEPS_OF_64_TO_256, CUBINET_END("%128", "%129"))

// clang-format on

struct Bf16Arithmetic {
  // Adds the product of this warpgroup's 64 columns and the tile's tokens, over all of K, to the accumulators. They
  // have the layout of wgmma's D fragment (PTX ISA): a thread holds 4 floats for each 8 tokens, tokens in ascending
  // order.
  static __device__ __forceinline__ void multiply(const Parameters& p, Control& control, u32 stages, Stage& stage,
                                                  const Tile& tile, int warpgroup, int lane,
                                                  float (&accumulators)[kAccumulators]) {
    StageLoop loop;
    loop.stages = stage_walk(p, control, lane);
    loop.weights = ptx::wgmma_descriptor(stages + warpgroup * kWarpgroupRows * kStageRowBytes);
    loop.tokens = ptx::wgmma_descriptor(stages + kWeightStageBytes);
    loop.tile_tokens = static_cast<u32>(tile.tokens);
    Bf16Mainloop<kBlockTokens, kTokenStep>::run(accumulators, stage, loop);
  }
};

}  // namespace cubinet
