// The kernels of templates/fp8_quantization.cuh on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "jit/driver.hpp"
#include "jit/loader.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// Where scales are written. The scale of row r and block c of K is element r / group_rows * group_stride +
// r % group_rows * row_stride + c * block_stride of `data`.
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
class QuantizationKernels {
 public:
  // `cubin` is that of quantization_spec(architecture). Errors: wrong_device, driver_failed.
  static Expected<QuantizationKernels> load(std::shared_ptr<const DeviceContext> device, std::string_view cubin,
                                            const std::string& architecture);

  // Writes row-major scales (groups, rows, blocks) column-major and aligned. `row_counts` is a device pointer to
  // `groups` int32, or 0; if it is given, rows of group g from row_counts[g] on may be left out.
  [[nodiscard]] Expected<void> transpose_scales(CUdeviceptr in, CUdeviceptr out, CUdeviceptr row_counts,
                                                std::int64_t groups, std::int64_t rows, std::int64_t blocks,
                                                CUstream stream) const;

  // Quantizes x (rows, k) bf16 to q (rows, k) e4m3.
  [[nodiscard]] Expected<void> quantize_rows(CUdeviceptr x, CUdeviceptr q, const ScalePlaces& scales, std::int64_t rows,
                                             std::int64_t k, CUstream stream) const;

  // Quantizes w (groups, n, k) bf16 to q (groups, n, k) e4m3, with row-major scales.
  [[nodiscard]] Expected<void> quantize_weights(CUdeviceptr w, CUdeviceptr q, CUdeviceptr scales, std::int64_t groups,
                                                std::int64_t n, std::int64_t k, CUstream stream) const;

 private:
  QuantizationKernels(std::shared_ptr<const DeviceContext> device, LoadedModule module) noexcept;
  Expected<void> find_functions();
  // `work`: CTAs that would do all of it in one step. The grid has at most as many, and strides over the rest.
  [[nodiscard]] Expected<void> launch(CUfunction function, const char* name, std::int64_t work, void** parameters,
                                      CUstream stream) const;

  std::shared_ptr<const DeviceContext> device_;
  LoadedModule module_;
  CUfunction transpose_scales_ = nullptr;
  CUfunction quantize_rows_ = nullptr;
  CUfunction quantize_weights_ = nullptr;
};

}  // namespace cubinet::jit
