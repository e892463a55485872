// Judges a grouped GEMM on a device: random operands, a poisoned output between guard bands, an FP32 reference.
//
//   auto verifier = Verifier::open(device, compiler, cabinet, options);
//   verifier->load(contiguous_plan(problem, contiguous_labels({100, 0, 300})));
//   auto launch_it = [&](CUstream stream) { return launch(verifier->contiguous_arguments(), stream); };
//   auto verdict = verifier->run("some kernel", launch_it);
//   if (!verdict->right()) ... verdict->complaint
//
// FP8 problems come with random scales, in either order.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cubinet/cubinet.hpp"
#include "warmup/execution/device_resources.hpp"
#include "warmup/execution/operand_memory.hpp"
#include "warmup/execution/row_plan.hpp"
#include "warmup/execution/verdict.hpp"
#include "warmup/execution/verification_kernels.hpp"

namespace cubinet::warmup {

struct VerifierOptions {
  std::uint64_t seed = 1;
  // How long a launch may take. When it is missed, `on_hang` is called with what hung. It must not return: nothing
  // can be taken back on a device that hangs, and every further call would wait as well.
  std::chrono::milliseconds deadline{20000};
  std::function<void(const std::string& what)> on_hang;
};

// Holds the operands of one problem at a time. Movable. The device's context is current on every thread that uses it;
// one thread at a time.
class Verifier {
 public:
  using Launch = std::function<Expected<void>(CUstream)>;
  // fresh: new random operands, spoiled with NaN, infinity and huge numbers in every row that is not valid and in
  // bands around them. keep: whatever the buffers hold, for timing one case after another; scales are made anew.
  enum class Operands { fresh, keep };

  static Expected<Verifier> open(const std::shared_ptr<const jit::DeviceContext>& device, jit::Compiler& compiler,
                                 cache::Cabinet* cabinet, VerifierOptions options);

  // Room for any of the plans, each data type in memory of its own, filled with random numbers.
  Expected<void> reserve(const std::vector<RowPlan>& plans);

  // Takes up a plan: room, operands, m_indices or masked_m. What earlier arguments pointed at is lost.
  Expected<void> load(const RowPlan& plan, Operands operands = Operands::fresh);

  // Arguments of the plan that was loaded, FP8 ones with scales in the order asked for and, if that is row-major, a
  // workspace. Precondition: its layout is the one asked for.
  [[nodiscard]] ContiguousArguments contiguous_arguments(ScaleOrder order = ScaleOrder::column_major) const;
  [[nodiscard]] MaskedArguments masked_arguments(std::int64_t expected_m,
                                                 ScaleOrder order = ScaleOrder::column_major) const;

  // Changes the counts or labels of the loaded plan (same layout, groups and rows), as between two replays of a graph.
  // Rows that become valid get random numbers, the others are spoiled.
  Expected<void> change_rows(const RowPlan& plan);

  // Puts other garbage, or zeros, into the rows that are not valid and their scales. The valid ones stay.
  Expected<void> change_padding(Garbage garbage);

  // Poisons the output, launches on stream(), waits, judges every valid row (or every step-th of a group).
  Expected<Verdict> run(const std::string& what, const Launch& launch, std::int64_t step = 1);

  // Sets the output aside, to be compared with a later one of the same plan. The next one gets other memory, so
  // arguments are to be asked for anew.
  Expected<void> set_output_aside();
  // How many elements of valid rows differ, in any bit, from the output that was set aside.
  Expected<std::uint64_t> count_differences();

  // The parts of run().
  Expected<void> poison();
  Expected<void> wait(const std::string& what) const;  // for all that was put on stream()
  Expected<void> wait(const std::string& what, CUstream stream) const;
  Expected<Verdict> judge(std::int64_t step = 1);

  [[nodiscard]] CUstream stream() const { return stream_.get(); }
  [[nodiscard]] const VerificationKernels& kernels() const { return kernels_; }

 private:
  Verifier(std::shared_ptr<const jit::Driver> driver, VerificationKernels kernels, DeviceStream stream,
           VerifierOptions options);
  [[nodiscard]] Filler filler() const { return {*driver_, kernels_, stream_.get()}; }
  [[nodiscard]] OperandMemory& operands();
  [[nodiscard]] const OperandMemory& operands() const;
  template <class Arguments>
  [[nodiscard]] Arguments common_arguments(ScaleOrder order) const;
  Expected<void> reserve_for(const RowPlan& plan);
  Expected<void> fill_operands();
  Expected<void> upload(DeviceBuffer& buffer, const void* data, std::size_t bytes);
  Expected<void> upload_rows();
  Expected<void> compare(std::int64_t step);
  Expected<void> count_writes();
  Expected<Verdict> read_verdict();

  std::shared_ptr<const jit::Driver> driver_;
  VerificationKernels kernels_;
  DeviceStream stream_;
  VerifierOptions options_;
  std::uint64_t loads_ = 0;  // makes the operands of each load their own
  std::uint64_t scale_seed_ = 0;
  std::uint64_t listed_ = 0;  // elements that the latest comparison was told to look at
  RowPlan plan_;
  OperandMemory bf16_, fp8_;
  DeviceBuffer d_, aside_, workspace_, selectors_, valid_, rows_, tiles_, sums_, counts_;
};

}  // namespace cubinet::warmup
