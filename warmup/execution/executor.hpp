// Executors, one per family: each owns the tensors of one problem on a device and runs kernels on random operands,
// judged by a reference.
//
//   auto executor = Fp8GroupedMaskedExecutor::open(bench, {.n = 4096, .k = 7168, .groups = 32, .largest_m = 512});
//   auto verdict = executor->execute(200);
//   if (!verdict->right()) ... verdict->complaint
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>

#include "cubinet/cubinet.hpp"
#include "jit/driver.hpp"
#include "jit/quantization_kernels.hpp"
#include "jit/sm90/launch.hpp"
#include "util/expected.hpp"
#include "warmup/execution/device_resources.hpp"
#include "warmup/execution/executor_layout.hpp"
#include "warmup/execution/operands.hpp"
#include "warmup/execution/random_rows.hpp"
#include "warmup/execution/verdict.hpp"

namespace cubinet::warmup {

// The kernel of a problem with a configuration, ready to be launched; called anew for each execution.
using KernelSource = std::function<Expected<jit::LaunchableKernel>(const Problem&, const jit::TileConfig&)>;

// What executors work with. Borrowed: it outlives them. The device's context is current on the thread that uses them.
struct ExecutorBench {
  const jit::DeviceContext& device;
  DeviceWatch& watch;  // asked for the memory in use after each allocation and each launch
  const VerificationKernels& verification;
  const jit::QuantizationKernels* quantization = nullptr;  // fp8 only: brings scales into the kernels' order
  CUstream stream = nullptr;
  KernelSource kernels;       // for execute(m) alone
  std::uint64_t seed = 1;     // of the operands; an executor goes on from there
  std::int64_t launches = 0;  // counted by executors: of kernels under test, the transposition of scales among them
};

struct ExecutorShape {
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int32_t groups = 0;
  std::int64_t largest_m = 0;  // M of the contiguous layout, capacity of the masked one
};

// What the executors share. Movable; one thread at a time. When the device hangs, an executor must not be destroyed:
// giving memory back would wait for ever.
class GroupedExecutor {
 public:
  GroupedExecutor(GroupedExecutor&&) = default;
  GroupedExecutor& operator=(GroupedExecutor&&) = default;
  virtual ~GroupedExecutor() = default;

  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }
  [[nodiscard]] std::int64_t largest_m() const noexcept { return largest_m_; }

  // Exactly the bytes of device memory that an executor of this problem with `m` as its largest M allocates: operands,
  // output, selectors, scales in both orders, and what the check needs. None where no kernel can run.
  [[nodiscard]] std::optional<std::int64_t> required_bytes(std::int64_t m) const;

  // Runs the kernel that the selector answers for m on fresh random operands and judges what it wrote. In the
  // contiguous layout m is the rows of A, at most largest_m(); in the masked one the rows expected per group, any
  // number from 1 on, with a capacity of at most largest_m(). Errors: invalid_argument (m out of range), those of the
  // kernel source, driver_failed (bench.watch.hung() tells a hang). A wrong result is a verdict, not an error.
  Expected<Verdict> execute(std::int64_t m);

  // The same with a kernel of any configuration.
  Expected<Verdict> execute(std::int64_t m, const jit::LaunchableKernel& kernel);

 protected:
  GroupedExecutor(ExecutorBench& bench, const Problem& problem, std::int64_t largest_m, const ExecutorLayout& layout,
                  DeviceBuffer memory);

  // Rows for m within the executor's memory.
  [[nodiscard]] virtual RowPlan plan_rows(std::int64_t m, std::uint64_t seed) const = 0;
  // Puts the kernel on the bench's stream.
  virtual Expected<void> launch(const RowPlan& plan, std::int64_t m, const jit::LaunchableKernel& kernel) = 0;

  static Expected<DeviceBuffer> allocate(ExecutorBench& bench, const std::optional<ExecutorLayout>& layout);

  [[nodiscard]] CUdeviceptr at(const Extent& extent) const;
  [[nodiscard]] OperandPlaces places() const;
  [[nodiscard]] ExecutorBench& bench() const noexcept { return *bench_; }
  [[nodiscard]] const ExecutorLayout& layout() const noexcept { return layout_; }

 private:
  Expected<void> prepare(const RowPlan& plan, std::uint64_t seed);
  Expected<void> upload(const Extent& extent, const void* data, std::size_t bytes);
  Expected<void> fill_scales(const RowPlan& plan, std::uint64_t seed);
  Expected<Verdict> judge(const RowPlan& plan);
  Expected<void> compare(const RowPlan& plan, const RowTiles& tiles);
  Expected<Verdict> read_verdict(std::uint64_t listed);

  ExecutorBench* bench_;
  Problem problem_;
  std::int64_t largest_m_;
  ExecutorLayout layout_;
  DeviceBuffer memory_;
  std::uint64_t executions_ = 0;  // makes the operands of each its own
};

// The executor of one family.
template <DataType type, Layout shape>
class FamilyExecutor final : public GroupedExecutor {
 public:
  // Allocates. Errors: invalid_argument where no kernel can run; driver_failed, when memory is short for one.
  static Expected<FamilyExecutor> open(ExecutorBench& bench, const ExecutorShape& shape_of_problem);

 private:
  using Arguments = std::conditional_t<shape == Layout::masked, MaskedArguments, ContiguousArguments>;
  using GroupedExecutor::GroupedExecutor;
  [[nodiscard]] Arguments arguments_for(const RowPlan& plan, std::int64_t m) const;
  Expected<void> transpose_scales(const RowPlan& plan);
  [[nodiscard]] RowPlan plan_rows(std::int64_t m, std::uint64_t seed) const override;
  Expected<void> launch(const RowPlan& plan, std::int64_t m, const jit::LaunchableKernel& kernel) override;
};

using Bf16GroupedContiguousExecutor = FamilyExecutor<DataType::bf16, Layout::contiguous>;
using Bf16GroupedMaskedExecutor = FamilyExecutor<DataType::bf16, Layout::masked>;
using Fp8GroupedContiguousExecutor = FamilyExecutor<DataType::fp8, Layout::contiguous>;
using Fp8GroupedMaskedExecutor = FamilyExecutor<DataType::fp8, Layout::masked>;

extern template class FamilyExecutor<DataType::bf16, Layout::contiguous>;
extern template class FamilyExecutor<DataType::bf16, Layout::masked>;
extern template class FamilyExecutor<DataType::fp8, Layout::contiguous>;
extern template class FamilyExecutor<DataType::fp8, Layout::masked>;

// The executor of the problem's family, with room for `largest_m`.
Expected<std::unique_ptr<GroupedExecutor>> make_executor(ExecutorBench& bench, const Problem& problem,
                                                         std::int64_t largest_m);

}  // namespace cubinet::warmup
