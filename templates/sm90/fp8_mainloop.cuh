// The main loop of the FP8 families: e4m3 operands with a scale for each token and 128 of K, and one for each 128 x 128
// block of the weights. The tensor core sums one K block at a time into fresh registers. Each sum is multiplied by both
// scales and added to the accumulators in FP32. While one warpgroup does that, the others keep the tensor core busy.
//
// As in bf16_mainloop.cuh a loop over K is one asm statement. With tokens on N, for tiles of few tokens, there is an
// instance for each token count, and a thread's accumulators belong to many tokens, whose scales it reads from shared
// memory. With tokens on M a thread's accumulators belong to two tokens.
//
// Addresses and descriptors of a stage are computed one stage ahead, while the tensor core multiplies; otherwise it
// would wait for them.
#pragma once

namespace cubinet::arithmetic {
constexpr int kElementBytes = 1;
constexpr bool kScaled = true;
}  // namespace cubinet::arithmetic

#include "layout.cuh"
#include "pipeline.cuh"
#include "ptx/wgmma.cuh"

namespace cubinet {

// The inputs of the loop over K besides accumulators and stage. Descriptors are given by their lower halves, which hold
// the address.
struct ScaledLoop {
  StageWalk stages;
  u32 on_m, on_n;  // descriptors in stage 0 of the operands on the M and the N side
  u32 tile_tokens;
  u32 scales;                  // this thread's first token scale in stage 0
  const float* weight_scales;  // of the block that the tile's columns lie in, along K
};
static_assert(kBlockColumns == kScaleColumns, "one block of weight scales per tile");

template <bool kTokensOnMSide, int kBlock, int kStep>
struct Fp8Mainloop;

// clang-format off

// Expands F for four accumulators at a time: F(a, b, c, d, byte offset of the first token's scale, ...).
#define CUBINET_QUADS_0_1(F, ...) F(0, 1, 2, 3, 0, __VA_ARGS__) F(4, 5, 6, 7, 32, __VA_ARGS__)
#define CUBINET_QUADS_2_3(F, ...) F(8, 9, 10, 11, 64, __VA_ARGS__) F(12, 13, 14, 15, 96, __VA_ARGS__)
#define CUBINET_QUADS_4_5(F, ...) F(16, 17, 18, 19, 128, __VA_ARGS__) F(20, 21, 22, 23, 160, __VA_ARGS__)
#define CUBINET_QUADS_6_7(F, ...) F(24, 25, 26, 27, 192, __VA_ARGS__) F(28, 29, 30, 31, 224, __VA_ARGS__)
#define CUBINET_QUADS_8_9(F, ...) F(32, 33, 34, 35, 256, __VA_ARGS__) F(36, 37, 38, 39, 288, __VA_ARGS__)
#define CUBINET_QUADS_10_11(F, ...) F(40, 41, 42, 43, 320, __VA_ARGS__) F(44, 45, 46, 47, 352, __VA_ARGS__)
#define CUBINET_QUADS_12_13(F, ...) F(48, 49, 50, 51, 384, __VA_ARGS__) F(52, 53, 54, 55, 416, __VA_ARGS__)
#define CUBINET_QUADS_14_15(F, ...) F(56, 57, 58, 59, 448, __VA_ARGS__) F(60, 61, 62, 63, 480, __VA_ARGS__)
#define CUBINET_QUADS_OF_16(F, ...) CUBINET_QUADS_0_1(F, __VA_ARGS__)
#define CUBINET_QUADS_OF_32(F, ...) CUBINET_QUADS_OF_16(F, __VA_ARGS__) CUBINET_QUADS_2_3(F, __VA_ARGS__)
#define CUBINET_QUADS_OF_48(F, ...) CUBINET_QUADS_OF_32(F, __VA_ARGS__) CUBINET_QUADS_4_5(F, __VA_ARGS__)
#define CUBINET_QUADS_OF_64(F, ...) CUBINET_QUADS_OF_48(F, __VA_ARGS__) CUBINET_QUADS_6_7(F, __VA_ARGS__)
#define CUBINET_QUADS_OF_80(F, ...) CUBINET_QUADS_OF_64(F, __VA_ARGS__) CUBINET_QUADS_8_9(F, __VA_ARGS__)
#define CUBINET_QUADS_OF_96(F, ...) CUBINET_QUADS_OF_80(F, __VA_ARGS__) CUBINET_QUADS_10_11(F, __VA_ARGS__)
#define CUBINET_QUADS_OF_112(F, ...) CUBINET_QUADS_OF_96(F, __VA_ARGS__) CUBINET_QUADS_12_13(F, __VA_ARGS__)
#define CUBINET_QUADS_OF_128(F, ...) CUBINET_QUADS_OF_112(F, __VA_ARGS__) CUBINET_QUADS_14_15(F, __VA_ARGS__)

#define CUBINET_PROMOTE(INDEX, SUMS, SCALE) "fma.rn.f32 %" #INDEX ", " SUMS #INDEX ", " SCALE ", %" #INDEX ";\n"

// Tokens on M: two of four accumulators belong to row lane / 4 of the warp's 16 rows, two to the row 8 further.
#define CUBINET_PROMOTE_ROWS(A, B, C, D, OFFSET, SUMS, UPPER, LOWER)                                                  \
  CUBINET_PROMOTE(A, SUMS, UPPER) CUBINET_PROMOTE(B, SUMS, UPPER)                                                     \
  CUBINET_PROMOTE(C, SUMS, LOWER) CUBINET_PROMOTE(D, SUMS, LOWER)

// Tokens on N: accumulators belong to two tokens in turn. Scales are read and multiplied while the sums are computed.
#define CUBINET_TOKEN_SCALES(A, B, C, D, OFFSET, UNUSED)                                                              \
  "ld.shared.v2.f32 {s" #A ", s" #B "}, [scale + " #OFFSET "];\n"                                                     \
  "mul.f32 s" #A ", s" #A ", block;\nmul.f32 s" #B ", s" #B ", block;\n"
#define CUBINET_PROMOTE_TOKENS(A, B, C, D, OFFSET, SUMS)                                                              \
  CUBINET_PROMOTE(A, SUMS, "s" #A) CUBINET_PROMOTE(B, SUMS, "s" #B)                                                   \
  CUBINET_PROMOTE(C, SUMS, "s" #A) CUBINET_PROMOTE(D, SUMS, "s" #B)

// Gives names to the asm operands after the accumulators.
#define CUBINET_SCALED_BEGIN(STAGE, PARITY, M, N, UNITS, FULL, EMPTY, ARRIVES, BLOCKS, TOKENS, STAGES, SCALES,        \
                             BLOCK_SCALES)                                                                            \
  "{\n"                                                                                                               \
  ".reg .pred accumulate, fresh, larger, ready, arrives, wraps, more;\n"                                              \
  ".reg .b64 a, b, block_scales;\n"                                                                                   \
  ".reg .b32 m, n, high, stage, parity, first_m, first_n, first_full, first_empty, blocks, tokens, stages, units;\n"  \
  ".reg .b32 full, emptied, turn, scale, scales;\n"                                                                   \
  ".reg .f32 block, next_block;\n"                                                                                    \
  "mov.b32 stage, " STAGE ";\nmov.b32 parity, " PARITY ";\n"                                                          \
  "mov.b32 first_m, " M ";\nmov.b32 first_n, " N ";\nmov.b32 units, " UNITS ";\nmov.b32 high, 0x40000040;\n"          \
  "mov.b32 first_full, " FULL ";\nmov.b32 first_empty, " EMPTY ";\n"                                                  \
  "mov.b32 blocks, " BLOCKS ";\nmov.b32 tokens, " TOKENS ";\nmov.b32 stages, " STAGES ";\n"                           \
  "mov.b32 scales, " SCALES ";\nmov.b64 block_scales, " BLOCK_SCALES ";\n"                                            \
  "setp.ne.u32 arrives, " ARRIVES ", 0;\nsetp.eq.u32 accumulate, 0, 0;\nsetp.ne.u32 fresh, 0, 0;\n"                   \
  "ld.global.nc.f32 next_block, [block_scales];\n"                                                                    \
  CUBINET_LOCATE

#define CUBINET_SCALED_END(STAGE, PARITY) "DONE:\nmov.b32 " STAGE ", stage;\nmov.b32 " PARITY ", parity;\n}"

// Computes the barrier and the descriptors of the stage.
#define CUBINET_LOCATE                                                                                                \
  "mad.lo.u32 full, stage, 8, first_full;\n"                                                                          \
  "mad.lo.u32 m, stage, units, first_m;\nmad.lo.u32 n, stage, units, first_n;\n"

// Multiplies 32 of K. The descriptors then advance by 32 bytes, which are 2 units.
#define CUBINET_MULTIPLY_32(N_SIDE, SUMS, ADDS)                                                                       \
  "mov.b64 a, {m, high};\nmov.b64 b, {n, high};\n"                                                                    \
  "wgmma.mma_async.sync.aligned.m64n" #N_SIDE "k32.f32.e4m3.e4m3 {" SUMS "}, a, b, " ADDS ", 1, 1;\n"
#define CUBINET_STEP "add.u32 m, m, 2;\nadd.u32 n, n, 2;\n"
#define CUBINET_MULTIPLY_BLOCK(N_SIDE, SUMS)                                                                          \
  "wgmma.fence.sync.aligned;\n"                                                                                       \
  CUBINET_MULTIPLY_32(N_SIDE, SUMS, "fresh") CUBINET_STEP                                                             \
  CUBINET_MULTIPLY_32(N_SIDE, SUMS, "accumulate") CUBINET_STEP                                                        \
  CUBINET_MULTIPLY_32(N_SIDE, SUMS, "accumulate") CUBINET_STEP                                                        \
  CUBINET_MULTIPLY_32(N_SIDE, SUMS, "accumulate")                                                                     \
  "wgmma.commit_group.sync.aligned;\n"

// Advances to the next stage. `scale`, `emptied` and `block` keep referring to the stage that is being multiplied. The
// weights' scale is loaded one K block ahead.
#define CUBINET_NEXT_STAGE                                                                                            \
  "mad.lo.u32 scale, parity, %77, scales;\nmad.lo.u32 scale, stage, %76, scale;\n"                                    \
  "mad.lo.u32 emptied, stage, 8, first_empty;\n"                                                                      \
  CUBINET_ADVANCE_STAGE                                                                                               \
  "mov.f32 block, next_block;\n"                                                                                      \
  "add.s64 block_scales, block_scales, 4;\n"                                                                          \
  "@more ld.global.nc.f32 next_block, [block_scales];\n"                                                              \
  CUBINET_LOCATE

// Waits until the sums are complete, then releases the stage and, at the end of a turn, the scales.
#define CUBINET_AWAIT_SUMS                                                                                            \
  "wgmma.wait_group.sync.aligned 0;\n"                                                                                \
  CUBINET_RELEASE("arrives", "emptied") CUBINET_RELEASE_SCALES("first_full", "%78")

// Tokens on M.
#define CUBINET_LOOP_OF_ROWS                                                                                          \
  ".reg .f32 t<64>, upper, lower;\n"                                                                                  \
  "STAGE:\n"                                                                                                          \
  CUBINET_AWAIT("", "full") CUBINET_MULTIPLY_BLOCK(128, CUBINET_REGISTERS_64("t"))                                    \
  CUBINET_NEXT_STAGE                                                                                                  \
  "ld.shared.f32 upper, [scale];\nld.shared.f32 lower, [scale + 32];\n"                                               \
  "mul.f32 upper, upper, block;\nmul.f32 lower, lower, block;\n"                                                      \
  CUBINET_AWAIT_SUMS                                                                                                  \
  CUBINET_QUADS_OF_128(CUBINET_PROMOTE_ROWS, "t", "upper", "lower")                                                   \
  "@more bra STAGE;\n"

// Tokens on N: the loop of one instance, skipped if the tile has more tokens.
#define CUBINET_TOKEN_INSTANCE(TOKENS, HALF, QUADS)                                                                   \
  CUBINET_SKIP_IF_LARGER(TOKENS)                                                                                      \
  "{\n"                                                                                                               \
  ".reg .f32 t<" #HALF ">, s<" #HALF ">;\n"                                                                           \
  "STAGE" #TOKENS ":\n"                                                                                               \
  CUBINET_AWAIT(#TOKENS, "full") CUBINET_MULTIPLY_BLOCK(TOKENS, CUBINET_REGISTERS_##HALF("t"))                        \
  CUBINET_NEXT_STAGE                                                                                                  \
  QUADS(CUBINET_TOKEN_SCALES, "")                                                                                     \
  CUBINET_AWAIT_SUMS                                                                                                  \
  QUADS(CUBINET_PROMOTE_TOKENS, "t")                                                                                  \
  "@more bra STAGE" #TOKENS ";\n"                                                                                     \
  "bra.uni DONE;\n"                                                                                                   \
  "}\n"                                                                                                               \
  "AFTER" #TOKENS ":\n"

#define CUBINET_LOOP_OF_16_TO_96                                                                                      \
  CUBINET_TOKEN_INSTANCE(16, 8, CUBINET_QUADS_OF_16) CUBINET_TOKEN_INSTANCE(32, 16, CUBINET_QUADS_OF_32)              \
  CUBINET_TOKEN_INSTANCE(48, 24, CUBINET_QUADS_OF_48) CUBINET_TOKEN_INSTANCE(64, 32, CUBINET_QUADS_OF_64)             \
  CUBINET_TOKEN_INSTANCE(80, 40, CUBINET_QUADS_OF_80) CUBINET_TOKEN_INSTANCE(96, 48, CUBINET_QUADS_OF_96)

#define CUBINET_SCALED_MAINLOOP(TOKENS_ON_M, BLOCK, STEP, LOOP)                                                       \
  template <>                                                                                                         \
  struct Fp8Mainloop<TOKENS_ON_M, BLOCK, STEP> {                                                                      \
    static __device__ __forceinline__ void run(float (&d)[64], Stage& stage, const ScaledLoop& loop) {                \
      asm volatile(CUBINET_SCALED_BEGIN("%64", "%65", "%66", "%67", "%68", "%69", "%70", "%71", "%72", "%73", "%74",  \
                                        "%75", "%79") LOOP CUBINET_SCALED_END("%64", "%65")                           \
                   : CUBINET_OUTPUTS_64(d), "+r"(stage.index), "+r"(stage.parity)                                     \
                   : "r"(loop.on_m), "r"(loop.on_n), "n"(kStageBytes / 16), "r"(loop.stages.full),                    \
                     "r"(loop.stages.empty), "r"(loop.stages.releases), "r"(loop.stages.blocks),                      \
                     "r"(loop.tile_tokens), "n"(kStages), "r"(loop.scales), "n"(kScaleStageBytes),                    \
                     "n"(kScaleTurnBytes), "n"(kOddScalesEmpty), "l"(loop.weight_scales)                              \
                   : "memory");                                                                                       \
    }                                                                                                                 \
  };

// One main loop for each pair of kBlockTokens and kTokenStep that an FP8 family selects.
CUBINET_SCALED_MAINLOOP(false, 96, 16, CUBINET_LOOP_OF_16_TO_96)
CUBINET_SCALED_MAINLOOP(true, 192, 64, CUBINET_LOOP_OF_ROWS)

// clang-format on

struct Fp8Arithmetic {
  // Adds this warpgroup's part of the tile's product, over all of K, to the accumulators. They have the layout of
  // wgmma's D fragment (PTX ISA): for each 8 of the N side a thread holds 2 elements of row lane / 4, and 2 of the row
  // 8 further.
  static __device__ __forceinline__ void multiply(const Parameters& p, Control& control, u32 stages, Stage& stage,
                                                  const Tile& tile, int warpgroup, int lane,
                                                  float (&accumulators)[kAccumulators]) {
    const u32 part = warpgroup * kWarpgroupRows * kStageRowBytes;
    const u32 weights = stages + (kTokensOnM ? 0 : part), tokens = stages + kWeightStageBytes + (kTokensOnM ? part : 0);
    const int first_token =
        kTokensOnM ? warpgroup * kWarpgroupRows + warp_of_warpgroup() * 16 + lane / 4 : lane % 4 * 2;
    ScaledLoop loop;
    loop.stages = stage_walk(p, control, lane);
    loop.on_m = static_cast<u32>(ptx::wgmma_descriptor(kTokensOnM ? tokens : weights));
    loop.on_n = static_cast<u32>(ptx::wgmma_descriptor(kTokensOnM ? weights : tokens));
    loop.tile_tokens = static_cast<u32>(tile.tokens);
    loop.scales = stages + kScaleOffset + first_token * 4;
    loop.weight_scales = weight_scales(p, tile);
    Fp8Mainloop<kTokensOnM, kBlockTokens, kTokenStep>::run(accumulators, stage, loop);
  }

 private:
  static __device__ __forceinline__ int warp_of_warpgroup() { return static_cast<int>(threadIdx.x) % kWarpgroup / 32; }

  // The weights' scales of the tile's columns. A tile of a cluster may start beyond the last column; its results are
  // not stored, so any scales in memory will do.
  static __device__ __forceinline__ const float* weight_scales(const Parameters& p, const Tile& tile) {
    const int blocks = ceil_div(columns_of(p), kScaleColumns);
    const int block = tile.column / kScaleColumns < blocks ? tile.column / kScaleColumns : blocks - 1;
    return p.weight_scales + (static_cast<long long>(tile.group) * blocks + block) * (depth_of(p) / kStageDepth);
  }
};

}  // namespace cubinet
