// A problem whose kernels are loaded: the table from M to kernel, and the checks before a launch.
#pragma once

#include <memory>
#include <vector>

#include "cubinet/cubinet.hpp"
#include "jit/driver.hpp"
#include "jit/launch.hpp"
#include "jit/loader.hpp"
#include "jit/quantization_kernels.hpp"
#include "jit/scales.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// A stretch of M and the kernel that serves it.
struct PreparedRange {
  MRange range;
  std::shared_ptr<const LoadedKernel> kernel;
};

// Immutable, hence thread-safe; keeps its device and kernels alive. See GroupedGemm in cubinet/cubinet.hpp for what the
// members promise.
class PreparedGemm {
 public:
  // Preconditions: `ranges` is ascending and without gaps, and not empty; an FP8 problem has `quantization`, which
  // transposes its row-major scales.
  PreparedGemm(std::shared_ptr<const DeviceContext> device, const Problem& problem, std::vector<PreparedRange> ranges,
               std::shared_ptr<const QuantizationKernels> quantization = nullptr);

  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }
  [[nodiscard]] MRange range() const noexcept { return {ranges_.front().range.first, ranges_.back().range.last}; }

  // The kernel for `m`. Precondition: m lies within range().
  [[nodiscard]] const LaunchableKernel& kernel_for(std::int64_t m) const noexcept;

  [[nodiscard]] Expected<void> launch(const ContiguousArguments& arguments, CUstream stream) const;
  [[nodiscard]] Expected<void> launch(const MaskedArguments& arguments, CUstream stream) const;
  [[nodiscard]] Expected<void> check_labels(const std::int32_t* m_indices, std::int64_t m) const;

 private:
  // Checks the scales, for A of `rows` rows (in each group), and launches the kernel for `m`.
  template <class Arguments>
  [[nodiscard]] Expected<void> launch_for(std::int64_t m, std::int64_t rows, const Arguments& arguments,
                                          CUstream stream) const;
  // Brings row-major activation scales into the workspace, column-major; answers with the tensor there.
  template <class Arguments>
  [[nodiscard]] Expected<ScaleTensor> transpose_scales(std::int64_t rows, const Arguments& arguments,
                                                       CUstream stream) const;

  std::shared_ptr<const DeviceContext> device_;
  Problem problem_;
  std::vector<PreparedRange> ranges_;
  std::shared_ptr<const QuantizationKernels> quantization_;
};

}  // namespace cubinet::jit
