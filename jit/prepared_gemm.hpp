// A problem whose kernels are loaded: the table from M to kernel, and the checks before a launch.
#pragma once

#include <memory>

#include "cubinet/cubinet.hpp"
#include "jit/driver.hpp"
#include "jit/kernel_table.hpp"
#include "jit/miss.hpp"
#include "jit/quantization_kernels.hpp"
#include "jit/scales.hpp"
#include "jit/sm90/launch.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// Thread-safe; keeps its device and kernels alive. See GroupedGemm in cubinet/cubinet.hpp for what the members promise.
class PreparedGemm {
 public:
  // `range`: what was asked for, within the table's. Without `misses` every row of the table is ready. An FP8 problem
  // has `quantization`, which transposes row-major scales, or refuses these.
  PreparedGemm(std::shared_ptr<const DeviceContext> device, MRange range, std::shared_ptr<KernelTable> table,
               std::shared_ptr<const QuantizationKernels> quantization = nullptr,
               std::shared_ptr<MissHandler> misses = nullptr);

  [[nodiscard]] const Problem& problem() const noexcept { return table_->problem(); }
  [[nodiscard]] MRange range() const noexcept { return range_; }

  // What a launch for `m` takes; null when that has to be seen to first. Precondition: m lies within the table's range.
  [[nodiscard]] const LaunchableKernel* kernel_for(std::int64_t m) const noexcept {
    return table_->ready(table_->index_of(m));
  }

  [[nodiscard]] Expected<void> launch(const ContiguousArguments& arguments, CUstream stream) const;
  [[nodiscard]] Expected<void> launch(const MaskedArguments& arguments, CUstream stream) const;
  [[nodiscard]] Expected<void> check_labels(const std::int32_t* m_indices, std::int64_t m) const;

 private:
  // Checks the scales, for A of `rows` rows (in each group), and launches the kernel for `m`.
  template <class Arguments>
  [[nodiscard]] Expected<void> launch_for(std::int64_t m, std::int64_t rows, const Arguments& arguments,
                                          CUstream stream) const;
  // kernel_for(m), or what the miss handler gives.
  [[nodiscard]] Expected<const LaunchableKernel*> obtain_kernel(std::int64_t m, CUstream stream) const;
  // Brings row-major activation scales into the workspace, column-major; answers with the tensor there.
  template <class Arguments>
  [[nodiscard]] Expected<ScaleTensor> transpose_scales(std::int64_t rows, const Arguments& arguments,
                                                       CUstream stream) const;

  std::shared_ptr<const DeviceContext> device_;
  MRange range_;
  std::shared_ptr<KernelTable> table_;
  std::shared_ptr<const QuantizationKernels> quantization_;
  std::shared_ptr<MissHandler> misses_;
};

}  // namespace cubinet::jit
