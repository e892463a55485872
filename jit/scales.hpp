// The checks of FP8 scales before a launch. Pure: a tensor is looked at as its owner describes it, never read.
#pragma once

#include <cstdint>

#include "cubinet/problem.hpp"
#include "cubinet/scales.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// The layouts of activation scales; see cubinet/scales.hpp.
enum class ScaleLayout : std::uint8_t { column_major, row_major };

// The layout in which `scales`, called `name` in errors, hold a scale per row and 128 of `k`: (rows, k / 128), or
// with `groups` > 0 (groups, rows, k / 128). Strides of dimensions of size 1 refuse nothing, but where both layouts
// describe the same elements, and the column-major one alone promises room for its padding, the stride of K's blocks
// decides.
// Errors: unsupported (UE8M0), invalid_argument (scales that are missing, null or misaligned, or of another rank, shape
// or stride); each names what was expected and what came. Allocates nothing when all is right.
Expected<ScaleLayout> check_row_scales(const char* name, const ScaleTensor& scales, std::int64_t rows, std::int64_t k,
                                       std::int64_t groups);

// Likewise for the scales of 128 x 128 blocks, (groups, scale_blocks(n), k / 128).
Expected<void> check_block_scales(const char* name, const ScaleTensor& scales, std::int64_t groups, std::int64_t n,
                                  std::int64_t k);

// The layout of the argument `a_scales` of an FP8 problem, where A has `rows` rows: M, or the capacity.
Expected<ScaleLayout> check_activation_scales(const ScaleTensor& scales, const Problem& problem, std::int64_t rows);

// The argument `b_scales` of an FP8 problem.
Expected<void> check_weight_scales(const ScaleTensor& scales, const Problem& problem);

// That a BF16 problem is given no scales: whoever has some means another problem.
Expected<void> check_no_scales(const ScaleTensor& a_scales, const ScaleTensor& b_scales);

}  // namespace cubinet::jit
