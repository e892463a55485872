#include "warmup/execution/operands.hpp"

#include "jit/problems.hpp"

namespace cubinet::warmup {
namespace {

bool masked(const RowPlan& plan) { return plan.problem.layout == Layout::masked; }

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

float* floats(CUdeviceptr address) { return reinterpret_cast<float*>(address); }

const std::int32_t* indices(CUdeviceptr address) { return reinterpret_cast<const std::int32_t*>(address); }

ScaleTensor a_scale_tensor(const GemmTensors& tensors, const RowPlan& plan, ScaleOrder order) {
  const std::int64_t groups = masked(plan) ? plan.problem.groups : 0;
  if (order == ScaleOrder::row_major) {
    return row_major_scales(floats(tensors.a_scales_rows), scale_rows(plan), plan.problem.k, groups);
  }
  return column_major_scales(floats(tensors.a_scales_columns), scale_rows(plan), plan.problem.k, groups);
}

// The members that the operands of both layouts have.
template <class Arguments>
Arguments common_arguments(const GemmTensors& tensors, const RowPlan& plan, ScaleOrder order) {
  const Problem& p = plan.problem;
  Arguments arguments;
  arguments.a = pointer(tensors.a);
  arguments.b = pointer(tensors.b);
  arguments.d = pointer(tensors.d.data);
  if (!jit::has_scales(p.data_type)) return arguments;
  arguments.a_scales = a_scale_tensor(tensors, plan, order);
  arguments.b_scales = weight_scales(floats(tensors.b_scales), p.groups, p.n, p.k);
  if (order == ScaleOrder::row_major) {
    arguments.workspace = {pointer(tensors.workspace.data), tensors.workspace.bytes};
  }
  return arguments;
}

}  // namespace

std::int64_t scale_groups(const RowPlan& plan) { return masked(plan) ? plan.problem.groups : 1; }

std::int64_t scale_rows(const RowPlan& plan) { return masked(plan) ? plan.capacity : plan.rows; }

std::int64_t workspace_bytes(const RowPlan& plan) {
  if (!jit::has_scales(plan.problem.data_type)) return 0;
  return scale_workspace_bytes(scale_groups(plan), scale_rows(plan), plan.problem.k);
}

ContiguousArguments contiguous_arguments(const GemmTensors& tensors, const RowPlan& plan, ScaleOrder order) {
  auto arguments = common_arguments<ContiguousArguments>(tensors, plan, order);
  arguments.m_indices = indices(tensors.grouping);
  arguments.m = plan.rows;
  return arguments;
}

MaskedArguments masked_arguments(const GemmTensors& tensors, const RowPlan& plan, ScaleOrder order,
                                 std::int64_t expected_m) {
  auto arguments = common_arguments<MaskedArguments>(tensors, plan, order);
  arguments.masked_m = indices(tensors.grouping);
  arguments.capacity = plan.capacity;
  arguments.expected_m = expected_m;
  return arguments;
}

ScaleView a_scale_view(const GemmTensors& tensors, const RowPlan& plan, ScaleOrder order) {
  if (!jit::has_scales(plan.problem.data_type)) return {};
  const std::int64_t rows = scale_rows(plan);
  const std::int64_t blocks = scale_blocks(plan.problem.k);
  if (order == ScaleOrder::row_major) return {floats(tensors.a_scales_rows), rows, rows, rows * blocks, blocks, 1};
  const std::int64_t stored = aligned_scale_rows(rows);
  return {floats(tensors.a_scales_columns), rows, stored, stored * blocks, 1, stored};
}

ScaleView b_scale_view(const GemmTensors& tensors, const RowPlan& plan) {
  if (!jit::has_scales(plan.problem.data_type)) return {};
  const std::int64_t rows = scale_blocks(plan.problem.n);
  const std::int64_t blocks = scale_blocks(plan.problem.k);
  return {floats(tensors.b_scales), rows, rows, rows * blocks, blocks, 1};
}

}  // namespace cubinet::warmup
