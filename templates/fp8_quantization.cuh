// The family "fp8_quantization": quantizes BF16 tensors to e4m3 with scales, and transposes activation scales from the
// row-major layout that quantizers write to the column-major layout that the GEMM kernels read.
//
// The family has no constants; every size is a run-time value. Every kernel has kThreads threads, works with any grid,
// striding over its work, and counts in 64 bits. A scale is max(amax, 1e-10) / 448, and an element is divided by its
// scale. Both are IEEE divisions, so a host computes the same bits.
#pragma once

#include "ptx/types.cuh"
#include "shared/fp8_quantization.cuh"

namespace cubinet::fp8_quantization {

using i64 = long long;

constexpr int kWarp = 32;
constexpr int kPasses = kScaleBlock / kRowsApart;
static_assert(kTileBlocks == kWarp, "a lane for each scale of a row");

// Two floats as e4m3, rounded to nearest even; `low` is in the lower byte. Values beyond +-448 become +-448. NaN stays
// NaN.
CUBINET_DEVICE u16 cvt_rn_satfinite_e4m3x2(float low, float high) {
  u16 packed;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(high), "f"(low));
  return packed;
}

// 16 consecutive elements of a row. Element 2 i is in the lower half of word i.
struct Values {
  u32 words[kElements / 2] = {};

  __device__ __forceinline__ float low(int i) const { return __uint_as_float(words[i] << 16); }
  __device__ __forceinline__ float high(int i) const { return __uint_as_float(words[i] & 0xffff0000u); }
};

CUBINET_DEVICE Values load(const bf16* source) {
  const uint4 first = reinterpret_cast<const uint4*>(source)[0], second = reinterpret_cast<const uint4*>(source)[1];
  return {{first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w}};
}

// The largest magnitude; NaN is ignored.
CUBINET_DEVICE float amax_of(const Values& values) {
  float amax = 0;
#pragma unroll
  for (int i = 0; i < kElements / 2; ++i) {
    amax = fmaxf(amax, fmaxf(fabsf(values.low(i)), fabsf(values.high(i))));
  }
  return amax;
}

// The maximum of `value` over groups of kCount consecutive lanes, in every lane. The whole warp must call this.
template <int kCount>
CUBINET_DEVICE float max_of_lanes(float value) {
#pragma unroll
  for (int apart = kCount / 2; apart > 0; apart /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, apart));
  }
  return value;
}

// The scale of a block with the largest magnitude `amax`.
CUBINET_DEVICE float scale_of(float amax) { return fmaxf(amax, 1e-10f) / 448.0f; }

CUBINET_DEVICE u32 quantize_four(const Values& values, int i, float scale) {
  const u32 first = cvt_rn_satfinite_e4m3x2(values.low(i) / scale, values.high(i) / scale);
  const u32 second = cvt_rn_satfinite_e4m3x2(values.low(i + 1) / scale, values.high(i + 1) / scale);
  return first | second << 16;
}

CUBINET_DEVICE void store_quantized(unsigned char* target, const Values& values, float scale) {
  *reinterpret_cast<uint4*>(target) = make_uint4(quantize_four(values, 0, scale), quantize_four(values, 2, scale),
                                                 quantize_four(values, 4, scale), quantize_four(values, 6, scale));
}

// This thread's part of a CTA's 128 x 128 block of weights: 16 elements of every kRowsApart-th row.
struct WeightBlock {
  Values values[kPasses];

  // `source` points to the thread's elements of its first row, `row` is that row within the block, and `count` is the
  // number of rows that exist.
  __device__ __forceinline__ void load_rows(const bf16* source, i64 k, int row, i64 count) {
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      values[i] = row + i * kRowsApart < count ? load(source + i * kRowsApart * k) : Values{};
    }
  }

  [[nodiscard]] __device__ __forceinline__ float amax() const {
    float amax = 0;
#pragma unroll
    for (int i = 0; i < kPasses; ++i) amax = fmaxf(amax, amax_of(values[i]));
    return amax;
  }

  __device__ __forceinline__ void store_rows(unsigned char* target, i64 k, int row, i64 count, float scale) const {
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      if (row + i * kRowsApart < count) store_quantized(target + i * kRowsApart * k, values[i], scale);
    }
  }
};

// The maximum of `value` over the CTA, in every thread. `scratch` holds a float per warp and may be reused at once.
CUBINET_DEVICE float max_of_block(float value, float* scratch) {
  value = max_of_lanes<kWarp>(value);
  if (threadIdx.x % kWarp == 0) scratch[threadIdx.x / kWarp] = value;
  __syncthreads();
#pragma unroll
  for (int warp = 0; warp < kThreads / kWarp; ++warp) value = fmaxf(value, scratch[warp]);
  __syncthreads();
  return value;
}

// The second dimension has one element more than the tile, so that neither rows nor columns lie in one bank.
using Tile = float[kTileBlocks][kTileRows + 1];

// Reads a tile of row-major scales. `source` points to its first scale. Beyond `rows` or `blocks` the tile gets zeros.
CUBINET_DEVICE void load_tile(Tile& tile, const float* source, i64 stride, i64 rows, i64 blocks) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int i = 0; i < kTileRows * kWarp / kThreads; ++i) {
    const int row = i * (kThreads / kWarp) + static_cast<int>(threadIdx.x) / kWarp;
    tile[lane][row] = row < rows && lane < blocks ? source[row * stride + lane] : 0.0f;
  }
}

// Writes the tile column-major, within `rows` and `blocks`.
CUBINET_DEVICE void store_tile(const Tile& tile, float* target, i64 stride, i64 rows, i64 blocks) {
  constexpr int kRowSteps = kTileRows / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int i = 0; i < kTileRows * kTileBlocks / kThreads; ++i) {
    const int block = i / kRowSteps * (kThreads / kWarp) + static_cast<int>(threadIdx.x) / kWarp;
    const int row = i % kRowSteps * kWarp + lane;
    if (row < rows && block < blocks) target[block * stride + row] = tile[block][row];
  }
}

}  // namespace cubinet::fp8_quantization

// Transposes row-major scales `in` (groups, rows, blocks) to column-major, aligned scales: element (g, r, c) goes to
// (g * blocks + c) * align(rows, 4) + r of `out`. The up to three rows that align a column are set to 0. If
// `row_counts` (groups) is given, tiles of 64 rows that start at or beyond row_counts[g] are not written: they hold no
// valid row.
extern "C" __global__ void __launch_bounds__(cubinet::fp8_quantization::kThreads)
    fp8_transpose_scales(const float* __restrict__ in, float* __restrict__ out, const int* __restrict__ row_counts,
                         long long groups, long long rows, long long blocks) {
  using namespace cubinet::fp8_quantization;
  __shared__ Tile tile;
  const i64 column = (rows + 3) / 4 * 4;
  const i64 row_tiles = (column + kTileRows - 1) / kTileRows;
  const i64 block_tiles = (blocks + kTileBlocks - 1) / kTileBlocks;
  for (i64 t = blockIdx.x; t < groups * row_tiles * block_tiles; t += gridDim.x) {
    const i64 first_block = t % block_tiles * kTileBlocks;
    const i64 first_row = t / block_tiles % row_tiles * kTileRows;
    const i64 group = t / block_tiles / row_tiles;
    if (row_counts != nullptr && first_row >= row_counts[group]) continue;
    const i64 blocks_left = blocks - first_block;
    load_tile(tile, in + (group * rows + first_row) * blocks + first_block, blocks, rows - first_row, blocks_left);
    __syncthreads();
    store_tile(tile, out + (group * blocks + first_block) * column + first_row, column, column - first_row,
               blocks_left);
    __syncthreads();
  }
}

// Quantizes x (rows, k) to q (rows, k), with a scale for each row and 128 of k. k is a multiple of 128; x and q are
// aligned to 16 bytes. The scale of row r and block c is written to element r / group_rows * group_stride + r %
// group_rows * row_stride + c * block_stride of `scales`. NaN stays NaN and does not change the scale of its block. If
// a block holds an infinity, its scale is infinite and the dequantized block is NaN.
extern "C" __global__ void __launch_bounds__(cubinet::fp8_quantization::kThreads)
    fp8_quantize_rows(const cubinet::bf16* __restrict__ x, unsigned char* __restrict__ q, float* __restrict__ scales,
                      long long rows, long long k, long long group_rows, long long group_stride, long long row_stride,
                      long long block_stride) {
  using namespace cubinet::fp8_quantization;
  const i64 blocks = k / kScaleBlock, total = rows * blocks;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kLanes;
  // A warp holds 128 columns of four rows or consecutive blocks. Its lanes stay together for the shuffles.
  constexpr int kPerWarp = kWarp / kLanes;
  const i64 first = static_cast<i64>(blockIdx.x) * kRowsApart + thread / kWarp * kPerWarp;
  for (i64 at = first; at < total; at += static_cast<i64>(gridDim.x) * kRowsApart) {
    const i64 block = at + thread % kWarp / kLanes;
    const i64 offset = block * kScaleBlock + lane * kElements;
    const Values values = block < total ? load(x + offset) : Values{};
    const float scale = scale_of(max_of_lanes<kLanes>(amax_of(values)));
    if (block >= total) break;
    store_quantized(q + offset, values, scale);
    if (lane == 0) {
      const i64 row = block / blocks, group = row / group_rows;
      scales[group * group_stride + (row - group * group_rows) * row_stride + (block - row * blocks) * block_stride] =
          scale;
    }
  }
}

// Quantizes w (groups, n, k) to q (groups, n, k), with a scale for each 128 x 128 block of (n, k). `scales` is (groups,
// ceil(n / 128), k / 128), row-major. k is a multiple of 128; the last block of n may have fewer rows. w and q are
// aligned to 16 bytes.
extern "C" __global__ void __launch_bounds__(cubinet::fp8_quantization::kThreads)
    fp8_quantize_weights(const cubinet::bf16* __restrict__ w, unsigned char* __restrict__ q, float* __restrict__ scales,
                         long long groups, long long n, long long k) {
  using namespace cubinet::fp8_quantization;
  __shared__ float scratch[kThreads / kWarp];
  const i64 row_blocks = (n + kScaleBlock - 1) / kScaleBlock, column_blocks = k / kScaleBlock;
  const int row = static_cast<int>(threadIdx.x) / kLanes, lane = static_cast<int>(threadIdx.x) % kLanes;
  for (i64 t = blockIdx.x; t < groups * row_blocks * column_blocks; t += gridDim.x) {
    const i64 column = t % column_blocks * kScaleBlock;
    const i64 first_row = t / column_blocks % row_blocks * kScaleBlock;
    const i64 group = t / column_blocks / row_blocks;
    const i64 offset = (group * n + first_row + row) * k + column + lane * kElements;
    WeightBlock block;
    block.load_rows(w + offset, k, row, n - first_row);
    const float scale = scale_of(max_of_block(block.amax(), scratch));
    block.store_rows(q + offset, k, row, n - first_row, scale);
    if (threadIdx.x == 0) scales[t] = scale;
  }
}

namespace cubinet::fp8_quantization {
static_assert(is_same<decltype(fp8_transpose_scales), TransposeScales> &&
                  is_same<decltype(fp8_quantize_rows), QuantizeRows> &&
                  is_same<decltype(fp8_quantize_weights), QuantizeWeights>,
              "the host passes these parameters");
}  // namespace cubinet::fp8_quantization
