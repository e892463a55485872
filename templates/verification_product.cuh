// The reference product of one tile of D, and its comparison with the output of a kernel.
#pragma once

#include "verification_numbers.cuh"

namespace cubinet_verification {

// The scales of a row; block c lies at c * view.block_stride.
__device__ __forceinline__ float* line(const ScaleView& view, i64 group, i64 row) {
  return view.data + group * view.group_stride + row * view.row_stride;
}

constexpr int kTileDepth = 32;  // K elements per step; K is a multiple of 64
// Of a tile of kTileRows by kTileColumns, each of 16 x 16 threads computes 4 rows by 8 columns.
static_assert(kTileRows == 16 * 4 && kTileColumns == 16 * 8 && kThreads == 16 * 16);
// Row strides of the staged operands: 8 banks more than a multiple of 32, so that the four threads that unpack the 32
// elements of one row store without bank conflicts (see unpack).
constexpr int kRowStride = kTileRows + 8;
constexpr int kColumnStride = kTileColumns + 8;

// A row of A or of B: loads eight consecutive elements, aligned to 8 elements, and converts them to floats.
struct Bf16Line {
  using Eight = uint4;
  const u16* elements;

  __device__ __forceinline__ Eight load(i64 at) const { return *reinterpret_cast<const uint4*>(elements + at); }

  static __device__ __forceinline__ void values(const Eight& eight, float (&out)[8]) {
    const u32 words[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      out[2 * w] = to_float(words[w] & 0xffffu);
      out[2 * w + 1] = to_float(words[w] >> 16);
    }
  }
};

struct Fp8Line {
  struct Eight {
    uint2 bytes;
    float scale;
  };
  const u8* elements;
  const float* scales;
  i64 scale_stride;

  __device__ __forceinline__ Eight load(i64 at) const {
    return {*reinterpret_cast<const uint2*>(elements + at), scales[at / kScaleBlock * scale_stride]};
  }

  static __device__ __forceinline__ void values(const Eight& eight, float (&out)[8]) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const u32 word = j < 4 ? eight.bytes.x : eight.bytes.y;
      out[j] = from_e4m3((word >> (8 * (j % 4))) & 0xffu) * eight.scale;
    }
  }
};

// A product: the rows of its operands, and the slack of an element of D, which is the error allowed besides half a bf16
// unit in the last place.
struct Bf16Product {
  using Line = Bf16Line;
  const u16* a;
  const u16* b;
  i64 n;
  i64 k;
  float sum_slack;

  __device__ __forceinline__ Line row(i64 row) const { return {a + row * k}; }
  __device__ __forceinline__ Line column(i64 group, i64 column) const { return {b + (group * n + column) * k}; }
  __device__ __forceinline__ float slack(i64 /*row*/, i64 /*group*/, i64 /*column*/) const { return sum_slack; }
};

struct Fp8Product {
  using Line = Fp8Line;
  const u8* a;
  const u8* b;
  ScaleView a_scales;
  ScaleView b_scales;
  i64 n;
  i64 k;
  float block_slack;  // of the sum over one block of K, before it is scaled

  __device__ __forceinline__ Line row(i64 row) const {
    return {a + row * k, line(a_scales, row / a_scales.rows, row % a_scales.rows), a_scales.block_stride};
  }
  __device__ __forceinline__ Line column(i64 group, i64 column) const {
    return {b + (group * n + column) * k, line(b_scales, group, column / kScaleBlock), b_scales.block_stride};
  }
  // The sum of the errors allowed in the blocks' sums, each scaled like its block.
  __device__ float slack(i64 row_index, i64 group, i64 column_index) const {
    const Line line_a = row(row_index);
    const Line line_b = column(group, column_index);
    float sum = 0;
    for (i64 block = 0; block < k / kScaleBlock; ++block) {
      sum = fmaf(line_a.scales[block * line_a.scale_stride], line_b.scales[block * line_b.scale_stride], sum);
    }
    return sum * block_slack;
  }
};

// Stores eight consecutive elements of K of one row or column at [k][line]. The order of K is permuted: element j of
// quarter q goes to position 4 j + q. The permutation is the same for both operands, so the products are the same.
template <class Line>
__device__ __forceinline__ void unpack(float* staged, int stride, int line, int quarter,
                                       const typename Line::Eight& eight) {
  float values[8];
  Line::values(eight, values);
#pragma unroll
  for (int j = 0; j < 8; ++j) staged[(4 * j + quarter) * stride + line] = values[j];
}

// Adds the products of rows and columns over the staged elements of K to acc.
__device__ __forceinline__ void multiply(float (&acc)[4][8], const float* rows, const float* columns, int ty, int tx) {
#pragma unroll 8
  for (int k = 0; k < kTileDepth; ++k) {
    const float4 a = *reinterpret_cast<const float4*>(rows + k * kRowStride + 4 * ty);
    const float4 b0 = *reinterpret_cast<const float4*>(columns + k * kColumnStride + 4 * tx);
    const float4 b1 = *reinterpret_cast<const float4*>(columns + k * kColumnStride + 64 + 4 * tx);
    const float av[4] = {a.x, a.y, a.z, a.w};
    const float bv[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) acc[i][j] = fmaf(av[i], bv[j], acc[i][j]);
    }
  }
}

// Adds the reference product of one tile of rows and one tile of columns to acc. Rows beyond the tile's count and
// columns beyond N repeat the last one; their products are not compared.
template <class Product>
__device__ __forceinline__ void reference_tile(float (&acc)[4][8], const Product& product, const int* rows,
                                               const RowTile& tile, float* staged_rows, float* staged_columns, int ty,
                                               int tx) {
  using Line = typename Product::Line;
  const int line = static_cast<int>(threadIdx.x) / 4;
  const int quarter = static_cast<int>(threadIdx.x) % 4;
  const i64 first_column = static_cast<i64>(blockIdx.y) * kTileColumns + line;
  const i64 n = product.n;
  const Line a = product.row(rows[tile.first + (line < tile.count ? line : tile.count - 1)]);
  const Line b0 = product.column(tile.group, first_column < n ? first_column : n - 1);
  const Line b1 = product.column(tile.group, first_column + 64 < n ? first_column + 64 : n - 1);
  typename Line::Eight next_a = a.load(8 * quarter);
  typename Line::Eight next_b0 = b0.load(8 * quarter);
  typename Line::Eight next_b1 = b1.load(8 * quarter);
  for (int at = 0; at < product.k; at += kTileDepth) {
    __syncthreads();
    unpack<Line>(staged_rows, kRowStride, line, quarter, next_a);
    unpack<Line>(staged_columns, kColumnStride, line, quarter, next_b0);
    unpack<Line>(staged_columns, kColumnStride, line + 64, quarter, next_b1);
    __syncthreads();
    const int ahead = at + kTileDepth;
    if (ahead < product.k) {
      next_a = a.load(ahead + 8 * quarter);
      next_b0 = b0.load(ahead + 8 * quarter);
      next_b1 = b1.load(ahead + 8 * quarter);
    }
    multiply(acc, staged_rows, staged_columns, ty, tx);
  }
  __syncthreads();
}

// The result of a comparison for the elements of one thread.
struct Sums {
  double xx = 0;
  double yy = 0;
  double xy = 0;
  u32 nans = 0;
  u32 outliers = 0;
  u32 compared = 0;
  float largest_error = 0;
  float largest_share = 0;

  // Adds element x of D and its reference y. A NaN is counted and left out of the sums, so that they still describe the
  // other elements.
  __device__ __forceinline__ void add(float x, float y, float slack) {
    ++compared;
    if (is_nan(x)) {
      ++nans;
      return;
    }
    const double dx = x;
    const double dy = y;
    xx += dx * dx;
    yy += dy * dy;
    xy += dx * dy;
    const float error = fabsf(x - y);
    const float allowed = fabsf(y) * (1.0f / 256.0f) + slack;
    if (error > allowed) ++outliers;
    largest_error = fmaxf(largest_error, error);
    if (error > 0) largest_share = fmaxf(largest_share, error / allowed);
  }
};

// Adds the sum of `value` over the CTA's threads to *total. `scratch` holds kThreads doubles and may be reused at once.
__device__ __forceinline__ void add_over_block(double value, double* scratch, double* total) {
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (int width = kThreads / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) scratch[threadIdx.x] += scratch[threadIdx.x + width];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(total, scratch[0]);
  __syncthreads();
}

// Compares this thread's elements with those of D.
template <class Product>
__device__ __forceinline__ Sums compare(const float (&acc)[4][8], const Product& product, const u16* d, const int* rows,
                                        const RowTile& tile, int ty, int tx) {
  // All columns of a tile are in one block of N, so a row of the tile has one slack.
  static_assert(kTileColumns == kScaleBlock, "a tile of columns has one row of weight scales");
  Sums sums;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int entry = 4 * ty + i;
    if (entry >= tile.count) continue;
    const i64 row = rows[tile.first + entry];
    const u16* line = d + row * product.n;
    const float slack = product.slack(row, tile.group, static_cast<i64>(blockIdx.y) * kTileColumns);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const i64 column = static_cast<i64>(blockIdx.y) * kTileColumns + (j / 4) * 64 + 4 * tx + j % 4;
      if (column < product.n) sums.add(to_float(line[column]), acc[i][j], slack);
    }
  }
  return sums;
}

// What a CTA does: computes one tile of the reference, compares it with D and adds the result to sums[group].
template <class Product>
__device__ __forceinline__ void check(const Product& product, const u16* d, const int* rows, const RowTile* tiles,
                                      GroupSums* sums) {
  __shared__ __align__(16) float staged_rows[kTileDepth * kRowStride];
  __shared__ __align__(16) float staged_columns[kTileDepth * kColumnStride];
  __shared__ double scratch[kThreads];
  const RowTile tile = tiles[blockIdx.x];
  const int ty = static_cast<int>(threadIdx.x) / 16;
  const int tx = static_cast<int>(threadIdx.x) % 16;
  float acc[4][8] = {};
  reference_tile(acc, product, rows, tile, staged_rows, staged_columns, ty, tx);
  const Sums mine = compare(acc, product, d, rows, tile, ty, tx);
  GroupSums* total = sums + tile.group;
  add_over_block(mine.xx, scratch, &total->xx);
  add_over_block(mine.yy, scratch, &total->yy);
  add_over_block(mine.xy, scratch, &total->xy);
  if (mine.nans) atomicAdd(&total->nans, static_cast<u64>(mine.nans));
  if (mine.outliers) atomicAdd(&total->outliers, static_cast<u64>(mine.outliers));
  if (mine.compared) atomicAdd(&total->compared, static_cast<u64>(mine.compared));
  // Non-negative floats and their bits have the same order.
  if (mine.compared) {
    atomicMax(&total->largest_error_bits, __float_as_uint(mine.largest_error));
    atomicMax(&total->largest_share_bits, __float_as_uint(mine.largest_share));
  }
}

}  // namespace cubinet_verification
