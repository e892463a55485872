// Device memory for the operands of one problem, with guard bands around each tensor.
#pragma once

#include <cstdint>

#include "jit/driver.hpp"
#include "util/expected.hpp"
#include "warmup/execution/device_resources.hpp"
#include "warmup/execution/operands.hpp"
#include "warmup/execution/row_plan.hpp"

namespace cubinet::test {

// Size of each guard band in bytes. The band after the output has room for a whole tile of 256 rows written past the
// end, for N up to 8192.
inline constexpr std::int64_t kBandBytes = std::int64_t{4} << 20;

// Grows the buffer to hold `bytes` between two guard bands.
Expected<void> reserve_with_bands(warmup::DeviceBuffer& buffer, const jit::Driver& driver, std::int64_t bytes);

// The address after the first guard band.
inline CUdeviceptr after_band(const warmup::DeviceBuffer& buffer) { return buffer.address() + kBandBytes; }

// Memory for A, B and, for FP8, their scales; scales of A in both layouts. Serves one data type and one plan at a time.
class OperandMemory {
 public:
  // Allocates memory for the operands of the plan. A buffer that grows loses its contents.
  Expected<void> reserve(const jit::Driver& driver, const warmup::RowPlan& plan);

  // Fills the guard bands of A and B with NaN, and those of scales with 3e38 before and NaN after the scales. A kernel
  // that uses a value from a band computes a wrong result. Precondition: reserve(plan).
  Expected<void> fill_bands(const jit::Driver& driver, CUstream stream, const warmup::RowPlan& plan) const;

  // Sets the addresses of the operands in `tensors`.
  void place_in(warmup::GemmTensors& tensors) const;

 private:
  warmup::DeviceBuffer a_, b_, a_scales_columns_, a_scales_rows_, b_scales_;
};

}  // namespace cubinet::test
