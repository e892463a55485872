// The operands of a problem in device memory, with what lies around them.
#pragma once

#include <cstdint>

#include "cubinet/scales.hpp"
#include "jit/driver.hpp"
#include "util/expected.hpp"
#include "warmup/execution/device_resources.hpp"
#include "warmup/execution/operands.hpp"
#include "warmup/execution/row_plan.hpp"

namespace cubinet::warmup {

// Bytes of the bands before and after each buffer. That of the output takes a whole tile of 256 rows written past the
// end at N up to 8192.
inline constexpr std::int64_t kBandBytes = std::int64_t{4} << 20;

// Room for `bytes` between two bands.
Expected<void> reserve_with_bands(DeviceBuffer& buffer, const jit::Driver& driver, std::int64_t bytes);

// What lies between the bands.
inline CUdeviceptr after_band(const DeviceBuffer& buffer) { return buffer.address() + kBandBytes; }

// A, B and, for fp8, their scales: those of A twice, the same numbers in either order. Serves one data type and one
// plan at a time, which is handed to every call; a plan that `reserve` has not seen must be no larger.
class OperandMemory {
 public:
  // What the buffers held is lost where they have to grow.
  Expected<void> reserve(const jit::Driver& driver, const RowPlan& plan);

  // Random numbers in all of A and B, of the streams `seed` and `seed + 1`.
  Expected<void> fill(const Filler& filler, const RowPlan& plan, std::uint64_t seed);

  // Random scales, of the streams `seed` and `seed + 1`; garbage for rows of A that are not valid, and in those that
  // only align. Nothing to do for bf16.
  Expected<void> fill_scales(const Filler& filler, const RowPlan& plan, CUdeviceptr valid, std::uint64_t seed,
                             Garbage garbage);

  // Garbage in the rows of A that are not valid.
  Expected<void> spoil(const Filler& filler, const RowPlan& plan, CUdeviceptr valid, Garbage garbage);

  // NaN in the bands of A and B; 3e38 before scales and NaN after them.
  Expected<void> fill_bands(const Filler& filler, const RowPlan& plan);

  [[nodiscard]] CUdeviceptr a() const { return after_band(a_); }
  [[nodiscard]] CUdeviceptr b() const { return after_band(b_); }
  // As a launch takes them; none for bf16.
  [[nodiscard]] ScaleTensor a_scales(const RowPlan& plan, ScaleOrder order) const;
  [[nodiscard]] ScaleTensor b_scales(const RowPlan& plan) const;
  // As the reference takes them.
  [[nodiscard]] ScaleView a_view(const RowPlan& plan, ScaleOrder order) const;
  [[nodiscard]] ScaleView b_view(const RowPlan& plan) const;

 private:
  [[nodiscard]] OperandPlaces places() const;

  DeviceBuffer a_, b_, a_columns_, a_rows_, b_scales_;
};

// Bytes of the workspace that a launch of the plan with row-major scales needs; 0 for bf16.
std::int64_t workspace_bytes(const RowPlan& plan);

}  // namespace cubinet::warmup
