// A problem whose kernels are loaded: the table from M to kernel, and the checks before a launch.
#pragma once

#include <memory>

#include "cubinet/cubinet.hpp"
#include "jit/driver.hpp"
#include "jit/gemm_arguments.hpp"
#include "jit/kernel_table.hpp"
#include "jit/miss.hpp"
#include "jit/quantization_kernels.hpp"
#include "jit/scales.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// Thread-safe; keeps its device and kernels alive. GroupedGemm in cubinet/cubinet.hpp states the contracts of the
// members.
class PreparedGemm {
 public:
  // `range` is the prepared range of M, which lies within the table's. `quantization` transposes row-major scales; if
  // it is null, such scales are refused. `misses` handles rows of the table that have no kernel; if it is null, every
  // row has one.
  PreparedGemm(std::shared_ptr<const DeviceContext> device, MRange range, std::shared_ptr<KernelTable> table,
               std::shared_ptr<const QuantizationKernels> quantization = nullptr,
               std::shared_ptr<MissHandler> misses = nullptr);

  [[nodiscard]] const Problem& problem() const noexcept { return table_->problem(); }
  [[nodiscard]] MRange range() const noexcept { return range_; }

  // The kernel that a launch for `m` takes; null when a launch would first have to load one. Precondition: m lies
  // within the table's range.
  [[nodiscard]] const GemmKernel* kernel_for(std::int64_t m) const noexcept {
    return table_->ready(table_->index_of(m));
  }

  [[nodiscard]] Expected<void> launch(const ContiguousArguments& arguments, CUstream stream) const;
  [[nodiscard]] Expected<void> launch(const MaskedArguments& arguments, CUstream stream) const;
  [[nodiscard]] Expected<void> check_m_indices(const std::int32_t* m_indices, std::int64_t m) const;

 private:
  // Checks what both layouts have, and launches the kernel for `m`.
  [[nodiscard]] Expected<void> launch_for(std::int64_t m, const GemmArguments& arguments, CUstream stream) const;
  // kernel_for(m), or the kernel that the miss handler returns.
  [[nodiscard]] Expected<const GemmKernel*> obtain_kernel(std::int64_t m, CUstream stream) const;
  // Transposes row-major activation scales into the workspace. Returns the column-major tensor there.
  [[nodiscard]] Expected<ScaleTensor> transpose_scales(const GemmArguments& arguments, CUstream stream) const;

  std::shared_ptr<const DeviceContext> device_;
  MRange range_;
  std::shared_ptr<KernelTable> table_;
  std::shared_ptr<const QuantizationKernels> quantization_;
  std::shared_ptr<MissHandler> misses_;
};

}  // namespace cubinet::jit
