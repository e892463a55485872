#include "warmup/execution/operands.hpp"

#include "jit/selector.hpp"

namespace cubinet::warmup {
namespace {

bool scaled(const RowPlan& plan) { return plan.problem.data_type == DataType::fp8; }

bool masked(const RowPlan& plan) { return plan.problem.layout == Layout::masked; }

float* floats(CUdeviceptr address) { return reinterpret_cast<float*>(address); }

}  // namespace

std::int64_t scale_groups(const RowPlan& plan) { return masked(plan) ? plan.problem.groups : 1; }

std::int64_t scale_rows(const RowPlan& plan) { return masked(plan) ? plan.capacity : plan.rows; }

Expected<void> fill_operands(const Filler& filler, const RowPlan& plan, const OperandPlaces& places,
                             std::uint64_t seed) {
  const Problem& p = plan.problem;
  return filler.kernels.fill_random(places.a, p.data_type, plan.rows * p.k, seed, filler.stream).and_then([&] {
    return filler.kernels.fill_random(places.b, p.data_type, p.groups * p.n * p.k, seed + 1, filler.stream);
  });
}

Expected<void> spoil_operands(const Filler& filler, const RowPlan& plan, const OperandPlaces& places, CUdeviceptr valid,
                              Garbage garbage) {
  const std::int64_t row_bytes = jit::element_bytes(plan.problem.data_type) * plan.problem.k;
  return filler.kernels.spoil_rows(places.a, valid, plan.rows, row_bytes, garbage, filler.stream);
}

Expected<void> fill_row_scales(const Filler& filler, const RowPlan& plan, const OperandPlaces& places, ScaleOrder order,
                               CUdeviceptr valid, std::uint64_t seed, Garbage garbage) {
  return filler.kernels.fill_scales(row_scale_view(plan, places, order), scale_groups(plan),
                                    scale_blocks(plan.problem.k), valid, seed, garbage, filler.stream);
}

Expected<void> fill_weight_scales(const Filler& filler, const RowPlan& plan, const OperandPlaces& places,
                                  std::uint64_t seed) {
  return filler.kernels.fill_scales(weight_scale_view(plan, places), plan.problem.groups, scale_blocks(plan.problem.k),
                                    0, seed, Garbage::zeros, filler.stream);  // every row is valid: no garbage
}

ScaleTensor row_scale_tensor(const RowPlan& plan, const OperandPlaces& places, ScaleOrder order) {
  if (!scaled(plan)) return {};
  const std::int64_t groups = masked(plan) ? plan.problem.groups : 0;
  if (order == ScaleOrder::row_major) {
    return row_major_scales(floats(places.a_rows), scale_rows(plan), plan.problem.k, groups);
  }
  return column_major_scales(floats(places.a_columns), scale_rows(plan), plan.problem.k, groups);
}

ScaleTensor weight_scale_tensor(const RowPlan& plan, const OperandPlaces& places) {
  if (!scaled(plan)) return {};
  return weight_scales(floats(places.b_scales), plan.problem.groups, plan.problem.n, plan.problem.k);
}

ScaleView row_scale_view(const RowPlan& plan, const OperandPlaces& places, ScaleOrder order) {
  if (!scaled(plan)) return {};
  const std::int64_t rows = scale_rows(plan);
  const std::int64_t blocks = scale_blocks(plan.problem.k);
  if (order == ScaleOrder::row_major) return {floats(places.a_rows), rows, rows, rows * blocks, blocks, 1};
  const std::int64_t stored = aligned_scale_rows(rows);
  return {floats(places.a_columns), rows, stored, stored * blocks, 1, stored};
}

ScaleView weight_scale_view(const RowPlan& plan, const OperandPlaces& places) {
  if (!scaled(plan)) return {};
  const std::int64_t rows = scale_blocks(plan.problem.n);
  const std::int64_t blocks = scale_blocks(plan.problem.k);
  return {floats(places.b_scales), rows, rows, rows * blocks, blocks, 1};
}

}  // namespace cubinet::warmup
