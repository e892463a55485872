// Judges a grouped GEMM on a device: random operands, a poisoned output between guard bands, an FP32 reference.
//
//   auto verifier = Verifier::open(device, compiler, cabinet, options);
//   verifier->load(contiguous_plan(problem, contiguous_labels({100, 0, 300})));
//   auto launch_it = [&](CUstream stream) { return launch(verifier->contiguous_arguments(), stream); };
//   auto verdict = verifier->run("some kernel", launch_it);
//   if (!verdict->right()) ... verdict->complaint
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cubinet/cubinet.hpp"
#include "warmup/device_resources.hpp"
#include "warmup/row_plan.hpp"
#include "warmup/verification_kernels.hpp"

namespace cubinet::warmup {

struct VerifierOptions {
  std::uint64_t seed = 1;
  // How long a launch may take. When it is missed, `on_hang` is called with what hung. It must not return: nothing
  // can be taken back on a device that hangs, and every further call would wait as well.
  std::chrono::milliseconds deadline{20000};
  std::function<void(const std::string& what)> on_hang;
};

// What is allowed of 1 - 2<x,y>/(<x,x>+<y,y>) per group, for bf16.
inline constexpr double kAllowedDifference = 1e-5;

struct Verdict {
  std::vector<GroupSums> groups;
  WriteCounts writes;              // in the output itself
  std::uint64_t guard_writes = 0;  // elements changed in the bands before and after it
  double worst_difference = 0;     // over the groups
  float largest_error = 0;
  std::string complaint;  // what is wrong first; empty when nothing is

  [[nodiscard]] bool right() const { return complaint.empty(); }
};

// Holds the operands of one problem at a time. Movable. The device's context is current on every thread that uses it;
// one thread at a time.
class Verifier {
 public:
  using Launch = std::function<Expected<void>(CUstream)>;
  // fresh: new random operands, spoiled with NaN, infinity and huge numbers in every row that is not valid and in
  // bands around them. keep: whatever the buffers hold, for timing one case after another.
  enum class Operands { fresh, keep };

  static Expected<Verifier> open(const std::shared_ptr<const jit::DeviceContext>& device, jit::Compiler& compiler,
                                 cache::Cabinet* cabinet, VerifierOptions options);

  // Room for operands of so many elements, filled with random numbers.
  Expected<void> reserve(std::int64_t a, std::int64_t b, std::int64_t d);

  // Takes up a plan: room, operands, m_indices or masked_m. What earlier arguments pointed at is lost.
  Expected<void> load(const RowPlan& plan, Operands operands = Operands::fresh);

  // Arguments of the plan that was loaded. Precondition: its layout is the one asked for.
  [[nodiscard]] ContiguousArguments contiguous_arguments() const;
  [[nodiscard]] MaskedArguments masked_arguments(std::int64_t expected_m) const;

  // Changes the counts or labels of the loaded plan (same layout, groups and rows), as between two replays of a graph.
  // Rows that become valid get random numbers, the others are spoiled.
  Expected<void> change_rows(const RowPlan& plan);

  // Poisons the output, launches on stream(), waits, judges every valid row (or every step-th of a group).
  Expected<Verdict> run(const std::string& what, const Launch& launch, std::int64_t step = 1);

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
  std::uint64_t loads_ = 0;   // makes the operands of each load their own
  std::uint64_t listed_ = 0;  // elements that the latest comparison was told to look at
  RowPlan plan_;
  DeviceBuffer a_, b_, d_, selectors_, valid_, rows_, tiles_, sums_, counts_;
};

}  // namespace cubinet::warmup
