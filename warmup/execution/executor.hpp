// Runs kernels of one problem on a device, on random operands, and checks the results.
//
//   auto executor = GroupedExecutor::open(context, problem, largest_m);
//   auto verdict = executor->execute(200, kernel);
//   if (!verdict->right()) ... verdict->complaint
#pragma once

#include <cstdint>

#include "cubinet/problem.hpp"
#include "jit/driver.hpp"
#include "jit/families/registry.hpp"
#include "jit/kernel.hpp"
#include "jit/quantization_kernels.hpp"
#include "util/expected.hpp"
#include "warmup/execution/device_resources.hpp"
#include "warmup/execution/executor_layout.hpp"
#include "warmup/execution/gemm_check.hpp"

namespace cubinet::warmup {

// What executors work with. Borrowed: it outlives them. The device's context is current on the thread that uses them.
struct ExecutorContext {
  const jit::DeviceContext& device;
  DeviceWatch& watch;  // asked for the memory in use after each allocation and each launch
  const VerificationKernels& verification;
  const jit::QuantizationKernels* quantization = nullptr;  // transposes the scales of A, where it has scales
  CUstream stream = nullptr;
  std::uint64_t seed = 1;     // of the operands of the first execution
  std::int64_t launches = 0;  // counted by executors: launches of kernels under test, transpositions included
  const jit::Registry& families = jit::families();
};

// Owns the tensors of one problem, in one allocation of executor_layout(problem, largest_m)->bytes. Movable; one thread
// at a time. Must not be destroyed while the device hangs: freeing memory would wait for ever.
class GroupedExecutor {
 public:
  // Allocates. `largest_m` is M in the contiguous layout and the capacity in the masked one. Errors: those of can_run,
  // unsupported if the operands have scales and nothing transposes them, invalid_argument if no kernel can run with so
  // many rows, driver_failed (for example if memory is short).
  static Expected<GroupedExecutor> open(ExecutorContext& context, const Problem& problem, std::int64_t largest_m);

  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }

  // Runs the kernel on new random operands and compares its output with the reference; of a large product it compares a
  // sample of the rows. In the contiguous layout m is the number of rows of A, from 1 to largest_m. In the masked
  // layout m is the number of rows expected per group, from 1 on, and the capacity is min(m, largest_m). Errors:
  // invalid_argument (m out of range), driver_failed (after a hang, context.watch.hung() is true). A wrong result is a
  // verdict, not an error.
  Expected<Verdict> execute(std::int64_t m, const jit::GemmKernel& kernel);

 private:
  GroupedExecutor(ExecutorContext& context, const Problem& problem, std::int64_t largest_m,
                  const ExecutorLayout& layout, DeviceBuffer memory);

  [[nodiscard]] CUdeviceptr at(const Extent& extent) const;
  [[nodiscard]] GemmTensors tensors(const RowPlan& plan) const;
  Expected<void> transpose_scales(const GemmTensors& tensors, const RowPlan& plan);
  Expected<void> launch(const GemmTensors& tensors, const RowPlan& plan, std::int64_t m, const jit::GemmKernel& kernel);

  ExecutorContext* context_;
  Problem problem_;
  std::int64_t largest_m_;
  ExecutorLayout layout_;
  DeviceBuffer memory_;
  std::uint64_t executions_ = 0;  // gives each execution operands of its own
};

}  // namespace cubinet::warmup
