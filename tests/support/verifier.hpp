// Runs a grouped GEMM of the public interface on a device and verifies the result. Guard bands surround every tensor.
//
//   auto verifier = Verifier::open(device, compiler, cabinet, options);
//   verifier->load(contiguous_plan(problem, padded_m_indices({100, 0, 300})));
//   auto launch_it = [&](CUstream stream) { return launch(verifier->contiguous_arguments(), stream); };
//   auto verdict = verifier->run("some kernel", launch_it);
//   if (!verdict->right()) ... verdict->complaint
//
// warmup::GemmCheck fills, poisons and judges tensors for the execution of a plan, too. This class adds what only tests
// and benchmarks need: memory that grows from plan to plan, guard bands, and comparison of two outputs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cubinet/cubinet.hpp"
#include "support/operand_memory.hpp"
#include "warmup/execution/device_resources.hpp"
#include "warmup/execution/gemm_check.hpp"
#include "warmup/execution/row_plan.hpp"
#include "warmup/execution/verification_kernels.hpp"

namespace cubinet::test {

using warmup::ScaleOrder;

struct VerifierOptions {
  std::uint64_t seed = 1;
  // The time limit of a launch. When it is exceeded, `on_hang` is called with the name of the launch. It must not
  // return: on a device that hangs, memory cannot be freed and every further call would block.
  std::chrono::milliseconds deadline{20000};
  std::function<void(const std::string& what)> on_hang;
};

// Holds the operands of one problem at a time. Movable. Use it from one thread at a time, on which the context of the
// device is current. Errors of all functions: driver_failed.
class Verifier {
 public:
  using Launch = warmup::GemmCheck::Launch;
  // fresh: new random operands, with NaN, infinity and huge numbers in all padding rows and guard bands.
  // keep: operands keep their values, to time one case after another; scales are filled again.
  enum class Operands { fresh, keep };

  // Precondition: options.on_hang is set.
  static Expected<Verifier> open(const std::shared_ptr<const jit::DeviceContext>& device, jit::Compiler& compiler,
                                 cache::Cabinet* cabinet, VerifierOptions options);

  // Allocates memory for all these plans, separately for each data type, and fills it with random numbers.
  Expected<void> reserve(const std::vector<warmup::RowPlan>& plans);

  // Loads a plan: allocates memory, and fills the operands and m_indices or masked_m. Arguments of earlier plans become
  // invalid.
  Expected<void> load(const warmup::RowPlan& plan, Operands operands = Operands::fresh);

  // The arguments of the loaded plan. FP8 problems get scales in the given layout; row-major ones come with a
  // workspace. Precondition: the plan has the layout of the function.
  [[nodiscard]] ContiguousArguments contiguous_arguments(ScaleOrder order = ScaleOrder::column_major) const;
  [[nodiscard]] MaskedArguments masked_arguments(std::int64_t expected_m,
                                                 ScaleOrder order = ScaleOrder::column_major) const;

  // Replaces m_indices or masked_m by those of another plan with the same problem and number of rows. Addresses do not
  // change, as between two replays of a graph. Operands are filled again.
  Expected<void> change_rows(const warmup::RowPlan& plan);

  // Replaces the values of padding rows and their scales. Valid rows do not change.
  Expected<void> change_padding(warmup::Garbage garbage);

  // Poisons the output, launches on stream(), waits, and judges every valid row, or every step-th row of a group.
  Expected<warmup::Verdict> run(const std::string& what, const Launch& launch, std::int64_t step = 1);

  // Keeps the output for count_differences(). The next output gets other memory, so the caller must ask for the
  // arguments again.
  Expected<void> set_output_aside();
  // The number of elements in valid rows that differ in any bit from the output that was set aside.
  Expected<std::uint64_t> count_differences();

  // The steps of run().
  Expected<void> poison();
  Expected<void> wait(const std::string& what);  // for all work on stream()
  Expected<void> wait(const std::string& what, CUstream stream);
  Expected<warmup::Verdict> judge(std::int64_t step = 1);

  [[nodiscard]] CUstream stream() const { return stream_.get(); }
  [[nodiscard]] const warmup::VerificationKernels& kernels() const { return kernels_; }

 private:
  Verifier(std::shared_ptr<const jit::Driver> driver, warmup::VerificationKernels kernels, warmup::DeviceStream stream,
           warmup::DeviceWatch watch, VerifierOptions options);
  [[nodiscard]] warmup::GemmCheck check() { return {*driver_, kernels_, watch_, stream()}; }
  [[nodiscard]] OperandMemory& operands();
  [[nodiscard]] warmup::GemmTensors tensors() const;
  void stop_if_hung(const std::string& what);
  Expected<void> reserve_for(const warmup::RowPlan& plan);
  Expected<void> fill_operands();
  Expected<void> fill_scales(warmup::Garbage garbage);

  std::shared_ptr<const jit::Driver> driver_;
  warmup::VerificationKernels kernels_;
  warmup::DeviceStream stream_;
  warmup::DeviceWatch watch_;
  VerifierOptions options_;
  std::uint64_t loads_ = 0;  // number of loads; each gets its own random operands
  std::uint64_t scale_seed_ = 0;
  warmup::RowPlan plan_;
  OperandMemory bf16_, fp8_;
  warmup::DeviceBuffer d_, aside_, workspace_, grouping_, valid_, row_list_, tiles_, sums_, writes_, differences_;
};

}  // namespace cubinet::test
