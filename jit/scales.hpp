// Checks of FP8 scales before a launch. Pure: they read the description of a tensor, never its elements.
#pragma once

#include <cstdint>

#include "cubinet/problem.hpp"
#include "cubinet/scales.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// The layouts of activation scales; see cubinet/scales.hpp.
enum class ScaleLayout : std::uint8_t { column_major, row_major };

// Checks activation scales and returns their layout. They have shape (rows, k / 128), or with `groups` > 0 (groups,
// rows, k / 128). `name` is their name in errors. A stride of a dimension of size 1 is never an error. If both layouts
// describe the same elements, the stride of the last dimension decides, because only the column-major layout guarantees
// memory for its padding.
// Errors: unsupported for UE8M0; invalid_argument if the scales are missing, null or misaligned, or have a wrong rank,
// shape or stride. Each message states the expected and the actual value. Allocates nothing on success.
Expected<ScaleLayout> check_row_scales(const char* name, const ScaleTensor& scales, std::int64_t rows, std::int64_t k,
                                       std::int64_t groups);

// The same for weight scales of 128 x 128 blocks: (groups, scale_blocks(n), k / 128).
Expected<void> check_block_scales(const char* name, const ScaleTensor& scales, std::int64_t groups, std::int64_t n,
                                  std::int64_t k);

// Checks the argument `a_scales` of an FP8 problem and returns its layout. `rows`: rows of A, which is M or the
// capacity.
Expected<ScaleLayout> check_activation_scales(const ScaleTensor& scales, const Problem& problem, std::int64_t rows);

// Checks the argument `b_scales` of an FP8 problem.
Expected<void> check_weight_scales(const ScaleTensor& scales, const Problem& problem);

// Fails if a BF16 problem is given scales: the caller then probably means another problem.
Expected<void> check_no_scales(const ScaleTensor& a_scales, const ScaleTensor& b_scales);

}  // namespace cubinet::jit
