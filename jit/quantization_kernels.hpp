// The kernels of templates/fp8_quantization.cuh on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/driver.hpp"
#include "jit/kernel.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// Where scales are written. The scale of row r and block c of K is stored in the element r / group_rows * group_stride
// + r % group_rows * row_stride + c * block_stride of `data`.
struct ScalePlaces {
  CUdeviceptr data = 0;
  std::int64_t group_rows = 0;
  std::int64_t group_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t block_stride = 0;
};

// Owns its module; keeps the device alive. Immutable, hence thread-safe. Preconditions of every launch: the arguments
// have been checked, no size is 0, and the device's context is current. A launch is asynchronous on `stream`, takes no
// lock and allocates nothing.
class QuantizationKernels final : public Kernel {
 public:
  // Loads the cubin of a spec of the family fp8_quantization. Errors: wrong_device, driver_failed.
  static Expected<std::shared_ptr<const Kernel>> load(std::shared_ptr<const DeviceContext> device,
                                                      const KernelSpec& spec, std::string_view cubin);
  QuantizationKernels(const KernelSpec& spec, LoadedModule module) : Kernel(spec, std::move(module)) {}

  // The entry points of the template.
  static std::vector<std::string> entry_points();

  // Writes row-major scales (groups, rows, blocks) column-major and aligned. `row_counts` is a device pointer to
  // `groups` int32, or 0; if it is given, rows of group g from row_counts[g] on may be left out. `num_sms`: the most
  // SMs that the launch may occupy; 0: all of the device.
  [[nodiscard]] Expected<void> transpose_scales(CUdeviceptr in, CUdeviceptr out, CUdeviceptr row_counts,
                                                std::int64_t groups, std::int64_t rows, std::int64_t blocks,
                                                CUstream stream, int num_sms) const;

  // Quantizes x (rows, k) bf16 to q (rows, k) e4m3.
  [[nodiscard]] Expected<void> quantize_rows(CUdeviceptr x, CUdeviceptr q, const ScalePlaces& scales, std::int64_t rows,
                                             std::int64_t k, CUstream stream) const;

  // Quantizes w (groups, n, k) bf16 to q (groups, n, k) e4m3, with row-major scales.
  [[nodiscard]] Expected<void> quantize_weights(CUdeviceptr w, CUdeviceptr q, CUdeviceptr scales, std::int64_t groups,
                                                std::int64_t n, std::int64_t k, CUstream stream) const;

 private:
  Expected<void> find_functions();
  // `work`: CTAs that would do all of it in one step. The grid has at most as many, and strides over the rest.
  [[nodiscard]] Expected<void> launch(CUfunction function, const char* name, std::int64_t work, void** parameters,
                                      CUstream stream, int num_sms = 0) const;

  CUfunction transpose_scales_ = nullptr;
  CUfunction quantize_rows_ = nullptr;
  CUfunction quantize_weights_ = nullptr;
};

}  // namespace cubinet::jit
