#include "jit/scales.hpp"

#include <array>
#include <cstddef>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "jit/gemm_arguments.hpp"

namespace cubinet::jit {
namespace {

using Extents = std::array<std::int64_t, 3>;

// The extents as text: "(64, 2)".
std::string text(const Extents& extents, std::int32_t rank) {
  return fmt::format("({})", fmt::join(extents.begin(), extents.begin() + rank, ", "));
}

tl::unexpected<Error> refuse(const char* name, const std::string& reason) {
  return fail(ErrorCode::invalid_argument, std::string(name) + reason);
}

bool same_shape(const ScaleTensor& scales, const ScaleTensor& wanted) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(wanted.rank); ++i) {
    if (scales.shape[i] != wanted.shape[i]) return false;
  }
  return true;
}

// Whether the strides address the same elements as those of `wanted`, which has the same shape.
bool same_strides(const ScaleTensor& scales, const ScaleTensor& wanted) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(wanted.rank); ++i) {
    if (wanted.shape[i] != 1 && scales.strides[i] != wanted.strides[i]) return false;
  }
  return true;
}

// Checks everything except the strides and the alignment, which depend on the layout. `meaning` is the shape in
// symbols.
Expected<void> check_form(const char* name, const ScaleTensor& scales, const ScaleTensor& wanted, const char* meaning) {
  const auto expected = [&] {
    return fmt::format("expected FP32 scales {} = {}", meaning, text(wanted.shape, wanted.rank));
  };
  if (scales.rank == 0) return refuse(name, " is missing: " + expected());
  if (scales.type == ScaleType::ue8m0) {
    return fail(ErrorCode::unsupported,
                fmt::format("{} holds UE8M0 scales, which belong to sm_100; sm_90 takes FP32: {}", name, expected()));
  }
  if (scales.type != ScaleType::fp32) return refuse(name, " is of an unknown type: " + expected());
  if (scales.rank != wanted.rank) return refuse(name, fmt::format(" has rank {}: {}", scales.rank, expected()));
  if (!same_shape(scales, wanted))
    return refuse(name, fmt::format(" has shape {}: {}", text(scales.shape, scales.rank), expected()));
  if (scales.data == nullptr) return refuse(name, " is null");
  return {};
}

tl::unexpected<Error> refuse_alignment(const char* name, const char* layout, std::uintptr_t alignment) {
  return refuse(name, fmt::format(" is not aligned to {} bytes, as {} scales are", alignment, layout));
}

// The layout of scales that both layouts describe: a single column or a single number. They count as column-major if
// the stride of the last dimension shows padding to a multiple of 4 rows, which the kernels read. If the number of rows
// is such a multiple, no padding is needed.
ScaleLayout layout_of_either(const ScaleTensor& scales, std::int64_t rows) {
  const auto last = static_cast<std::size_t>(scales.rank - 1);
  const std::int64_t column = aligned_scale_rows(rows);
  const bool padded = rows == column || scales.strides[last] == column;
  return padded && is_aligned(scales.data, kOperandAlignment) ? ScaleLayout::column_major : ScaleLayout::row_major;
}

}  // namespace

Expected<ScaleLayout> check_row_scales(const char* name, const ScaleTensor& scales, std::int64_t rows, std::int64_t k,
                                       std::int64_t groups) {
  const ScaleTensor column_major = column_major_scales(nullptr, rows, k, groups);
  const ScaleTensor row_major = row_major_scales(nullptr, rows, k, groups);
  const char* meaning = groups == 0 ? "(rows, K / 128)" : "(groups, rows, K / 128)";
  if (auto formed = check_form(name, scales, row_major, meaning); !formed) return propagate(formed);
  const bool by_columns = same_strides(scales, column_major), by_rows = same_strides(scales, row_major);
  if (!by_columns && !by_rows) {
    return refuse(name, fmt::format(" has strides {}: expected {} (column-major, aligned) or {} (row-major)",
                                    text(scales.strides, scales.rank), text(column_major.strides, column_major.rank),
                                    text(row_major.strides, row_major.rank)));
  }
  if (!is_aligned(scales.data, alignof(float))) return refuse_alignment(name, "FP32", alignof(float));
  if (by_columns && by_rows) return layout_of_either(scales, rows);
  if (by_rows) return ScaleLayout::row_major;
  if (!is_aligned(scales.data, kOperandAlignment)) return refuse_alignment(name, "column-major", kOperandAlignment);
  return ScaleLayout::column_major;
}

Expected<void> check_block_scales(const char* name, const ScaleTensor& scales, std::int64_t groups, std::int64_t n,
                                  std::int64_t k) {
  const ScaleTensor wanted = weight_scales(nullptr, groups, n, k);
  if (auto formed = check_form(name, scales, wanted, "(groups, ceil(N / 128), K / 128)"); !formed) return formed;
  if (!same_strides(scales, wanted)) {
    return refuse(name, fmt::format(" has strides {}: expected {} (row-major)", text(scales.strides, scales.rank),
                                    text(wanted.strides, wanted.rank)));
  }
  if (!is_aligned(scales.data, alignof(float))) return refuse_alignment(name, "FP32", alignof(float));
  return {};
}

Expected<ScaleLayout> check_activation_scales(const ScaleTensor& scales, const Problem& problem, std::int64_t rows) {
  return check_row_scales("a_scales", scales, rows, problem.k, problem.layout == Layout::masked ? problem.groups : 0);
}

Expected<void> check_weight_scales(const ScaleTensor& scales, const Problem& problem) {
  return check_block_scales("b_scales", scales, problem.groups, problem.n, problem.k);
}

Expected<void> check_no_scales(const ScaleTensor& a_scales, const ScaleTensor& b_scales) {
  const auto given = [](const ScaleTensor& scales) { return scales.rank != 0 || scales.data != nullptr; };
  const bool first = given(a_scales);
  if (!first && !given(b_scales)) [[likely]]
    return {};
  return refuse(first ? "a_scales" : "b_scales", " is given, but the problem is BF16, which has no scales");
}

}  // namespace cubinet::jit
