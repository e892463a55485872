// The scales of FP8 operands: plain values, no CUDA.
//
// An FP8 operand is e4m3fn (largest finite value 448) with FP32 scales: value = q * scale. Activations have one scale
// per row and 128 columns of K, weights have one per block of 128 rows of N and 128 columns of K.
#pragma once

#include <array>
#include <cstdint>

namespace cubinet {

// Columns of K, and for weights rows of N, that share a scale.
constexpr std::int64_t scale_block() { return 128; }

// The number of blocks of `size` elements; the last one may be partial.
constexpr std::int64_t scale_blocks(std::int64_t size) { return (size + scale_block() - 1) / scale_block(); }

// The length of a column of `rows` scales in the column-major layout: each column starts at a multiple of 16 bytes.
constexpr std::int64_t aligned_scale_rows(std::int64_t rows) { return (rows + 3) / 4 * 4; }

enum class ScaleType : std::uint8_t {
  fp32,
  ue8m0,  // only exponents, four packed in an int32; for sm_100, refused on sm_90
};

// A tensor of scales in device memory. A launch checks type, shape and strides on the host and refuses a tensor that
// does not fit. Shape and strides count elements; the first `rank` entries are used. The stride of a dimension of size
// 1 does not matter.
//
// Activations: (R, C) in the contiguous layout, R = M; (groups, R, C) in the masked layout, R = capacity; C = K / 128.
// They have one of two layouts:
//   column-major, aligned  (r, c) is at c * aligned_scale_rows(R) + r; groups are aligned_scale_rows(R) * C apart. The
//                          kernels read this one. If R or C is 1, the stride of C distinguishes the layouts.
//   row-major              (r, c) is at r * C + c; groups are R * C apart. Quantizers write this one. A launch
//                          transposes it first, into the workspace that the caller lends.
// Weights: rank 3, (groups, scale_blocks(N), K / 128), row-major.
struct ScaleTensor {
  const void* data = nullptr;  // aligned to 16 bytes (row-major activations and weights: to 4)
  ScaleType type = ScaleType::fp32;
  std::int32_t rank = 0;  // 0: there are none
  std::array<std::int64_t, 3> shape{};
  std::array<std::int64_t, 3> strides{};
};

// Describes activation scales (m, k / 128), or with `groups` > 0 (groups, m, k / 128), in either layout.
constexpr ScaleTensor column_major_scales(const float* data, std::int64_t m, std::int64_t k, std::int64_t groups = 0) {
  const std::int64_t blocks = scale_blocks(k), column = aligned_scale_rows(m);
  if (groups == 0) return {data, ScaleType::fp32, 2, {m, blocks, 0}, {1, column, 0}};
  return {data, ScaleType::fp32, 3, {groups, m, blocks}, {column * blocks, 1, column}};
}
constexpr ScaleTensor row_major_scales(const float* data, std::int64_t m, std::int64_t k, std::int64_t groups = 0) {
  const std::int64_t blocks = scale_blocks(k);
  if (groups == 0) return {data, ScaleType::fp32, 2, {m, blocks, 0}, {blocks, 1, 0}};
  return {data, ScaleType::fp32, 3, {groups, m, blocks}, {m * blocks, blocks, 1}};
}

// Describes weight scales (groups, scale_blocks(n), k / 128).
constexpr ScaleTensor weight_scales(const float* data, std::int64_t groups, std::int64_t n, std::int64_t k) {
  const std::int64_t rows = scale_blocks(n), blocks = scale_blocks(k);
  return {data, ScaleType::fp32, 3, {groups, rows, blocks}, {rows * blocks, blocks, 1}};
}

// The bytes of workspace that a launch with row-major activation scales needs, for its column-major copy of them.
// `groups` is 1 for the contiguous layout. Precondition: the sizes are valid for a launch.
constexpr std::int64_t scale_workspace_bytes(std::int64_t groups, std::int64_t m, std::int64_t k) {
  return 4 * groups * aligned_scale_rows(m) * scale_blocks(k);
}

}  // namespace cubinet
