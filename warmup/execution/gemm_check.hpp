// Runs a grouped GEMM on random operands and compares what it wrote with a reference in FP32.
//
//   const GemmCheck check{driver, kernels, watch, stream};
//   check.upload_rows(tensors, plan); check.fill_operands(tensors, plan, seed); ...
//   auto verdict = check.run(tensors, plan, "bf16 masked", launch);
//   if (!verdict->right()) ... verdict->complaint
//
// Execution of a plan and the GPU tests both use it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "jit/driver.hpp"
#include "util/expected.hpp"
#include "warmup/execution/device_resources.hpp"
#include "warmup/execution/operands.hpp"
#include "warmup/execution/row_plan.hpp"
#include "warmup/execution/verdict.hpp"
#include "warmup/execution/verification_kernels.hpp"

namespace cubinet::warmup {

// Borrows all that it refers to. The device's context is current on the thread that calls. One thread at a time. Every
// function works on `stream`; those that return Expected<void> do not wait for it unless they say so. Errors:
// driver_failed.
class GemmCheck {
 public:
  // Puts the launch under test on the stream.
  using Launch = std::function<Expected<void>(CUstream)>;

  GemmCheck(const jit::Driver& driver, const VerificationKernels& kernels, DeviceWatch& watch, CUstream stream)
      : driver_(driver), kernels_(kernels), watch_(watch), stream_(stream) {}

  // Copies m_indices or masked_m, and which rows are valid. The plan must live until the stream has done it.
  [[nodiscard]] Expected<void> upload_rows(const GemmTensors& tensors, const RowPlan& plan) const;

  // Fills A with the random stream `seed` and B with the stream `seed + 1`.
  [[nodiscard]] Expected<void> fill_operands(const GemmTensors& tensors, const RowPlan& plan, std::uint64_t seed) const;

  // Writes garbage to the rows of A that are not valid.
  [[nodiscard]] Expected<void> spoil_padding(const GemmTensors& tensors, const RowPlan& plan, Garbage garbage) const;

  // Fills the scales of A, in one order, with the random stream `seed`: both orders get the same scales. Rows that are
  // not valid, and those that exist for alignment only, get garbage. Does nothing for bf16.
  [[nodiscard]] Expected<void> fill_a_scales(const GemmTensors& tensors, const RowPlan& plan, ScaleOrder order,
                                             std::uint64_t seed, Garbage garbage) const;

  // Fills the scales of B with the random stream `seed`. Does nothing for bf16.
  [[nodiscard]] Expected<void> fill_b_scales(const GemmTensors& tensors, const RowPlan& plan, std::uint64_t seed) const;

  // Fills D, the workspace and their guard bands with kPoison, which is NaN as bf16 and, in pairs, as FP32.
  [[nodiscard]] Expected<void> poison(const GemmTensors& tensors) const;

  // poison(), then the launch, then a wait for its end, then judge(). `what` names the launch in errors. After a hang
  // the watch says so.
  [[nodiscard]] Expected<Verdict> run(const GemmTensors& tensors, const RowPlan& plan, const std::string& what,
                                      const Launch& launch, std::int64_t step = 1) const;

  // Compares every valid row of D with the reference, or every step-th of each group and the last one, and counts
  // writes to rows that are not valid and to guard bands. Waits. A wrong result is a verdict, not an error. The scales
  // of A are read row-major.
  [[nodiscard]] Expected<Verdict> judge(const GemmTensors& tensors, const RowPlan& plan, std::int64_t step = 1) const;

 private:
  [[nodiscard]] Expected<void> upload(CUdeviceptr to, const void* data, std::size_t bytes) const;
  [[nodiscard]] Expected<void> poison(const GuardedTensor& tensor) const;
  [[nodiscard]] Expected<void> compare(const GemmTensors& tensors, const RowPlan& plan, const RowTiles& tiles) const;
  [[nodiscard]] Expected<void> count_writes(const GemmTensors& tensors, const RowPlan& plan) const;
  [[nodiscard]] Expected<void> count_in_bands(const GuardedTensor& tensor, CUdeviceptr counts) const;
  [[nodiscard]] Expected<Verdict> read_verdict(const GemmTensors& tensors, const RowPlan& plan,
                                               std::uint64_t listed) const;

  const jit::Driver& driver_;
  const VerificationKernels& kernels_;
  DeviceWatch& watch_;
  CUstream stream_;
};

}  // namespace cubinet::warmup
