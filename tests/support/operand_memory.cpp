#include "support/operand_memory.hpp"

#include "cubinet/scales.hpp"
#include "jit/problems.hpp"

namespace cubinet::test {
namespace {

using warmup::DeviceBuffer;
using warmup::RowPlan;

// A pattern that is NaN for both operand types: two NaN of bf16, or four of e4m3.
constexpr std::uint32_t kNanOperands = 0x7fff7fff;
constexpr std::uint32_t kHugeScale = 0x7f61b1e6;  // 3e38
constexpr std::uint32_t kNanScale = 0x7fc00000;

std::int64_t a_bytes(const RowPlan& plan) {
  return jit::element_bytes(jit::operands_of(plan.problem.data_type).a) * plan.rows * plan.problem.k;
}

std::int64_t b_bytes(const RowPlan& plan) {
  const Problem& p = plan.problem;
  return jit::element_bytes(jit::operands_of(p.data_type).a) * p.groups * p.n * p.k;
}

std::int64_t row_major_bytes(const RowPlan& plan) { return 4 * plan.rows * scale_blocks(plan.problem.k); }

std::int64_t b_scale_bytes(const RowPlan& plan) {
  const Problem& p = plan.problem;
  return 4 * p.groups * scale_blocks(p.n) * scale_blocks(p.k);
}

// The size of every operand is a multiple of 4 bytes.
Expected<void> fill_band(const jit::Driver& driver, CUstream stream, CUdeviceptr address, std::uint32_t word) {
  return driver.check(driver.cuMemsetD32Async(address, word, kBandBytes / 4, stream), "filling a band");
}

Expected<void> fill_both(const jit::Driver& driver, CUstream stream, const DeviceBuffer& buffer, std::int64_t bytes,
                         std::uint32_t before, std::uint32_t after) {
  return fill_band(driver, stream, buffer.address(), before).and_then([&] {
    return fill_band(driver, stream, after_band(buffer) + static_cast<CUdeviceptr>(bytes), after);
  });
}

}  // namespace

Expected<void> reserve_with_bands(DeviceBuffer& buffer, const jit::Driver& driver, std::int64_t bytes) {
  return buffer.reserve(driver, static_cast<std::size_t>(bytes + 2 * kBandBytes));
}

Expected<void> OperandMemory::reserve(const jit::Driver& driver, const RowPlan& plan) {
  auto status = reserve_with_bands(a_, driver, a_bytes(plan)).and_then([&] {
    return reserve_with_bands(b_, driver, b_bytes(plan));
  });
  if (!status || !jit::has_scales(plan.problem.data_type)) return status;
  return reserve_with_bands(a_scales_columns_, driver, warmup::workspace_bytes(plan))
      .and_then([&] { return reserve_with_bands(a_scales_rows_, driver, row_major_bytes(plan)); })
      .and_then([&] { return reserve_with_bands(b_scales_, driver, b_scale_bytes(plan)); });
}

Expected<void> OperandMemory::fill_bands(const jit::Driver& driver, CUstream stream, const RowPlan& plan) const {
  const auto fill = [&](const DeviceBuffer& buffer, std::int64_t bytes, std::uint32_t before, std::uint32_t after) {
    return fill_both(driver, stream, buffer, bytes, before, after);
  };
  auto status = fill(a_, a_bytes(plan), kNanOperands, kNanOperands).and_then([&] {
    return fill(b_, b_bytes(plan), kNanOperands, kNanOperands);
  });
  if (!status || !jit::has_scales(plan.problem.data_type)) return status;
  return fill(a_scales_columns_, warmup::workspace_bytes(plan), kHugeScale, kNanScale)
      .and_then([&] { return fill(a_scales_rows_, row_major_bytes(plan), kHugeScale, kNanScale); })
      .and_then([&] { return fill(b_scales_, b_scale_bytes(plan), kHugeScale, kNanScale); });
}

void OperandMemory::place_in(warmup::GemmTensors& tensors) const {
  tensors.a = after_band(a_);
  tensors.b = after_band(b_);
  tensors.a_scales_columns = after_band(a_scales_columns_);
  tensors.a_scales_rows = after_band(a_scales_rows_);
  tensors.b_scales = after_band(b_scales_);
}

}  // namespace cubinet::test
