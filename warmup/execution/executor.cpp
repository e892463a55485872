#include "warmup/execution/executor.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "jit/problems.hpp"
#include "jit/target.hpp"

namespace cubinet::warmup {
namespace {

// The largest product that the reference computes in full. It runs on the CUDA cores, at about 10^13 FLOP/s.
constexpr double kMostReferenceFlop = 4e11;

// Random streams that one execution takes: A, B and the scales of both.
constexpr std::uint64_t kStreamsPerExecution = 4;

// The `step` of GemmCheck::judge.
std::int64_t step_for(const RowPlan& plan) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(plan.flop() / kMostReferenceFlop));
}

std::string describe(const RowPlan& plan) { return fmt::format("{} rows={}", jit::describe(plan.problem), plan.rows); }

}  // namespace

GroupedExecutor::GroupedExecutor(ExecutorContext& context, const Problem& problem, std::int64_t largest_m,
                                 const ExecutorLayout& layout, DeviceBuffer memory)
    : context_(&context), problem_(problem), largest_m_(largest_m), layout_(layout), memory_(std::move(memory)) {}

Expected<GroupedExecutor> GroupedExecutor::open(ExecutorContext& context, const Problem& problem,
                                                std::int64_t largest_m) {
  const auto target = jit::target_of(context.device.info());
  if (!target) return propagate(target);
  if (const auto runs = context.families.can_run(problem, *target); !runs) return propagate(runs);
  if (jit::has_scales(problem.data_type) && context.quantization == nullptr) {
    return fail(ErrorCode::unsupported, "no companion kernel transposes the scales of " + jit::describe(problem));
  }
  const auto layout = executor_layout(problem, largest_m);
  if (!layout) return fail(ErrorCode::invalid_argument, "no kernel can run with so many rows");
  DeviceBuffer memory;
  return memory.reserve(context.device.driver(), static_cast<std::size_t>(layout->bytes))
      .and_then([&] { return context.watch.used(); })
      .map([&](std::int64_t) { return GroupedExecutor(context, problem, largest_m, *layout, std::move(memory)); });
}

CUdeviceptr GroupedExecutor::at(const Extent& extent) const {
  return memory_.address() + static_cast<CUdeviceptr>(extent.offset);
}

GemmTensors GroupedExecutor::tensors(const RowPlan& plan) const {
  GemmTensors tensors;
  tensors.a = at(layout_.a);
  tensors.b = at(layout_.b);
  tensors.a_scales_columns = at(layout_.scale_workspace);  // written by the transposition
  tensors.a_scales_rows = at(layout_.a_scales);
  tensors.b_scales = at(layout_.b_scales);
  tensors.grouping = at(layout_.grouping);
  tensors.d = {at(layout_.d), 2 * plan.rows * problem_.n, 0};
  tensors.workspace = {at(layout_.scale_workspace), workspace_bytes(plan), 0};
  tensors.valid = at(layout_.valid);
  tensors.row_list = at(layout_.row_list);
  tensors.tiles = at(layout_.tiles);
  tensors.sums = at(layout_.sums);
  tensors.writes = at(layout_.writes);
  return tensors;
}

Expected<Verdict> GroupedExecutor::execute(std::int64_t m, const jit::GemmKernel& kernel) {
  const bool masked = problem_.layout == Layout::masked;
  if (m < 1 || (!masked && m > largest_m_)) {
    return fail(ErrorCode::invalid_argument, fmt::format("m is {}, and must be from 1 to {}", m, largest_m_));
  }
  const std::uint64_t seed = context_->seed + kStreamsPerExecution * executions_++;
  const RowPlan plan =
      masked ? random_masked_plan(problem_, std::min(m, largest_m_), seed) : random_contiguous_plan(problem_, m, seed);
  const GemmTensors operands = tensors(plan);
  const GemmCheck check(context_->device.driver(), context_->verification, context_->watch, context_->stream);
  return check.upload_rows(operands, plan)
      .and_then([&] { return check.fill_operands(operands, plan, seed); })
      .and_then([&] { return check.spoil_padding(operands, plan, Garbage::harsh); })
      .and_then([&] { return check.fill_a_scales(operands, plan, ScaleOrder::row_major, seed + 2, Garbage::harsh); })
      .and_then([&] { return check.fill_b_scales(operands, plan, seed + 3); })
      .and_then([&] {
        const auto put = [&](CUstream) { return launch(operands, plan, m, kernel); };
        return check.run(operands, plan, describe(plan), put, step_for(plan));
      });
}

Expected<void> GroupedExecutor::transpose_scales(const GemmTensors& tensors, const RowPlan& plan) {
  if (!jit::has_scales(problem_.data_type)) return {};
  const CUdeviceptr masked_m = problem_.layout == Layout::masked ? tensors.grouping : 0;
  ++context_->launches;
  return context_->quantization->transpose_scales(tensors.a_scales_rows, tensors.workspace.data, masked_m,
                                                  scale_groups(plan), scale_rows(plan), scale_blocks(problem_.k),
                                                  context_->stream, 0);
}

Expected<void> GroupedExecutor::launch(const GemmTensors& tensors, const RowPlan& plan, std::int64_t m,
                                       const jit::GemmKernel& kernel) {
  if (const auto transposed = transpose_scales(tensors, plan); !transposed) return transposed;
  ++context_->launches;
  const auto put = [&](const auto& arguments) {
    return kernel.launch(problem_, jit::gemm_arguments(problem_, arguments), context_->stream);
  };
  return problem_.layout == Layout::masked ? put(masked_arguments(tensors, plan, ScaleOrder::column_major, m))
                                           : put(contiguous_arguments(tensors, plan, ScaleOrder::column_major));
}

}  // namespace cubinet::warmup
