#include "jit/quantizer.hpp"

#include <cstddef>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "jit/gemm_arguments.hpp"
#include "jit/scales.hpp"

namespace cubinet::jit {
namespace {

// The limit of a grouped GEMM, too, where rows and K are TMA coordinates. Products of two such sizes fit 64 bits.
constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();

Expected<void> check_size(const char* name, std::int64_t size) {
  if (size < 0) return refuse_negative(name, size);
  if (size <= kLargest) return {};
  return fail(ErrorCode::invalid_argument, fmt::format("{} is {}: at most {} is possible", name, size, kLargest));
}

Expected<void> check_depth(std::int64_t k) {
  if (k > 0 && k <= kLargest && k % scale_block() == 0) return {};
  return fail(ErrorCode::unsupported,
              fmt::format("K must be a positive multiple of {} below 2^31 for FP8: K={}", scale_block(), k));
}

Expected<void> check_operands(const char* name, const void* source, const void* q) {
  if (auto checked = check_pointer(name, source, kOperandAlignment); !checked) return checked;
  return check_pointer("q", q, kOperandAlignment);
}

// Where `scales` are written. `scales` have rank 2, or rank 3 with groups of equally many rows.
Expected<ScalePlaces> places_of(const ScaleTensor& scales, std::int64_t rows, std::int64_t k) {
  const std::int64_t groups = scales.rank == 3 ? scales.shape[0] : 0;
  if (scales.rank == 3 && (groups < 1 || rows % groups != 0)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("scales has {} groups, which do not share {} rows evenly", groups, rows));
  }
  const std::int64_t group_rows = groups == 0 ? rows : rows / groups;
  const auto layout = check_row_scales("scales", scales, group_rows, k, groups);
  if (!layout) return propagate(layout);
  // The strides are computed rather than taken from the caller, whose strides of a dimension of size 1 may be
  // arbitrary.
  const ScaleTensor laid = *layout == ScaleLayout::column_major ? column_major_scales(nullptr, group_rows, k, 1)
                                                                : row_major_scales(nullptr, group_rows, k, 1);
  return ScalePlaces{device_address(scales.data), group_rows, laid.strides[0], laid.strides[1], laid.strides[2]};
}

Expected<void> check_weights(const void* w, std::int64_t groups, std::int64_t n, std::int64_t k, const void* q,
                             const ScaleTensor& scales) {
  if (groups > kLargest / n) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("groups * N must stay below 2^31: groups={}, N={}", groups, n));
  }
  if (auto checked = check_operands("w", w, q); !checked) return checked;
  return check_block_scales("scales", scales, groups, n, k);
}

}  // namespace

PreparedQuantizer::PreparedQuantizer(std::shared_ptr<const DeviceContext> device,
                                     std::shared_ptr<const QuantizationKernels> kernels)
    : device_(std::move(device)), kernels_(std::move(kernels)) {}

Expected<void> PreparedQuantizer::quantize_rows(const void* x, std::int64_t rows, std::int64_t k, void* q,
                                                const ScaleTensor& scales, CUstream stream) const {
  if (auto checked = check_size("rows", rows); !checked) return checked;
  if (auto checked = check_depth(k); !checked) return checked;
  if (rows == 0) return {};
  if (auto checked = check_operands("x", x, q); !checked) return checked;
  const auto places = places_of(scales, rows, k);
  if (!places) return propagate(places);
  const CurrentContext current(*device_);
  if (auto entered = current.status(); !entered) return entered;
  return kernels_->quantize_rows(device_address(x), device_address(q), *places, rows, k, stream);
}

Expected<void> PreparedQuantizer::quantize_weights(const void* w, std::int64_t groups, std::int64_t n, std::int64_t k,
                                                   void* q, const ScaleTensor& scales, CUstream stream) const {
  if (auto checked = check_size("groups", groups); !checked) return checked;
  if (auto checked = check_size("N", n); !checked) return checked;
  if (auto checked = check_depth(k); !checked) return checked;
  if (groups == 0 || n == 0) return {};
  if (auto checked = check_weights(w, groups, n, k, q, scales); !checked) return checked;
  const CurrentContext current(*device_);
  if (auto entered = current.status(); !entered) return entered;
  return kernels_->quantize_weights(device_address(w), device_address(q), device_address(scales.data), groups, n, k,
                                    stream);
}

}  // namespace cubinet::jit
