#include "warmup/execution/operand_memory.hpp"

#include "jit/selector.hpp"

namespace cubinet::warmup {
namespace {

// Two NaN of either operand type: as bf16, and as two bytes of e4m3.
constexpr std::uint16_t kNanPair = 0x7fff;
constexpr std::uint32_t kHugeScale = 0x7f61b1e6;  // 3e38
constexpr std::uint32_t kNanScale = 0x7fc00000;

bool scaled(const RowPlan& plan) { return plan.problem.data_type == DataType::fp8; }

std::int64_t a_bytes(const RowPlan& plan) {
  return jit::element_bytes(plan.problem.data_type) * plan.rows * plan.problem.k;
}

std::int64_t b_bytes(const RowPlan& plan) {
  const Problem& p = plan.problem;
  return jit::element_bytes(p.data_type) * p.groups * p.n * p.k;
}

std::int64_t row_major_bytes(const RowPlan& plan) { return 4 * plan.rows * scale_blocks(plan.problem.k); }

std::int64_t weight_scale_bytes(const RowPlan& plan) {
  const Problem& p = plan.problem;
  return 4 * p.groups * scale_blocks(p.n) * scale_blocks(p.k);
}

Expected<void> fill_pairs(const Filler& filler, CUdeviceptr address, std::uint16_t pair) {
  constexpr auto count = static_cast<std::size_t>(kBandBytes / 2);
  return filler.driver.check(filler.driver.cuMemsetD16Async(address, pair, count, filler.stream), "filling a band");
}

Expected<void> fill_words(const Filler& filler, CUdeviceptr address, std::uint32_t word) {
  constexpr auto count = static_cast<std::size_t>(kBandBytes / 4);
  return filler.driver.check(filler.driver.cuMemsetD32Async(address, word, count, filler.stream), "filling a band");
}

Expected<void> band_operand(const Filler& filler, const DeviceBuffer& buffer, std::int64_t bytes) {
  return fill_pairs(filler, buffer.address(), kNanPair).and_then([&] {
    return fill_pairs(filler, after_band(buffer) + static_cast<CUdeviceptr>(bytes), kNanPair);
  });
}

Expected<void> band_scales(const Filler& filler, const DeviceBuffer& buffer, std::int64_t bytes) {
  return fill_words(filler, buffer.address(), kHugeScale).and_then([&] {
    return fill_words(filler, after_band(buffer) + static_cast<CUdeviceptr>(bytes), kNanScale);
  });
}

}  // namespace

Expected<void> reserve_with_bands(DeviceBuffer& buffer, const jit::Driver& driver, std::int64_t bytes) {
  return buffer.reserve(driver, static_cast<std::size_t>(bytes + 2 * kBandBytes));
}

std::int64_t workspace_bytes(const RowPlan& plan) {
  return scaled(plan) ? scale_workspace_bytes(scale_groups(plan), scale_rows(plan), plan.problem.k) : 0;
}

Expected<void> OperandMemory::reserve(const jit::Driver& driver, const RowPlan& plan) {
  auto status = reserve_with_bands(a_, driver, a_bytes(plan)).and_then([&] {
    return reserve_with_bands(b_, driver, b_bytes(plan));
  });
  if (!status || !scaled(plan)) return status;
  return reserve_with_bands(a_columns_, driver, workspace_bytes(plan))
      .and_then([&] { return reserve_with_bands(a_rows_, driver, row_major_bytes(plan)); })
      .and_then([&] { return reserve_with_bands(b_scales_, driver, weight_scale_bytes(plan)); });
}

OperandPlaces OperandMemory::places() const {
  return {a(), b(), after_band(a_columns_), after_band(a_rows_), after_band(b_scales_)};
}

Expected<void> OperandMemory::fill(const Filler& filler, const RowPlan& plan, std::uint64_t seed) {
  return fill_operands(filler, plan, places(), seed);
}

Expected<void> OperandMemory::fill_scales(const Filler& filler, const RowPlan& plan, CUdeviceptr valid,
                                          std::uint64_t seed, Garbage garbage) {
  if (!scaled(plan)) return {};
  const auto fill_a = [&](ScaleOrder order) {
    return fill_row_scales(filler, plan, places(), order, valid, seed, garbage);
  };
  return fill_a(ScaleOrder::column_major).and_then([&] { return fill_a(ScaleOrder::row_major); }).and_then([&] {
    return fill_weight_scales(filler, plan, places(), seed + 1);
  });
}

Expected<void> OperandMemory::spoil(const Filler& filler, const RowPlan& plan, CUdeviceptr valid, Garbage garbage) {
  return spoil_operands(filler, plan, places(), valid, garbage);
}

Expected<void> OperandMemory::fill_bands(const Filler& filler, const RowPlan& plan) {
  auto status =
      band_operand(filler, a_, a_bytes(plan)).and_then([&] { return band_operand(filler, b_, b_bytes(plan)); });
  if (!status || !scaled(plan)) return status;
  return band_scales(filler, a_columns_, workspace_bytes(plan))
      .and_then([&] { return band_scales(filler, a_rows_, row_major_bytes(plan)); })
      .and_then([&] { return band_scales(filler, b_scales_, weight_scale_bytes(plan)); });
}

ScaleTensor OperandMemory::a_scales(const RowPlan& plan, ScaleOrder order) const {
  return row_scale_tensor(plan, places(), order);
}

ScaleTensor OperandMemory::b_scales(const RowPlan& plan) const { return weight_scale_tensor(plan, places()); }

ScaleView OperandMemory::a_view(const RowPlan& plan, ScaleOrder order) const {
  return row_scale_view(plan, places(), order);
}

ScaleView OperandMemory::b_view(const RowPlan& plan) const { return weight_scale_view(plan, places()); }

}  // namespace cubinet::warmup
