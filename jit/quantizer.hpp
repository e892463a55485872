// The implementation of cubinet::Quantizer: checks the arguments and launches the kernels.
#pragma once

#include <cstdint>
#include <memory>

#include "cubinet/scales.hpp"
#include "jit/driver.hpp"
#include "jit/quantization_kernels.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// Immutable, hence thread-safe. Keeps its device and kernels alive. Quantizer in cubinet/cubinet.hpp states the
// contracts of the members. With 0 rows, or an empty weight tensor, nothing is launched.
class PreparedQuantizer {
 public:
  PreparedQuantizer(std::shared_ptr<const DeviceContext> device, std::shared_ptr<const QuantizationKernels> kernels);

  [[nodiscard]] Expected<void> quantize_rows(const void* x, std::int64_t rows, std::int64_t k, void* q,
                                             const ScaleTensor& scales, CUstream stream) const;
  [[nodiscard]] Expected<void> quantize_weights(const void* w, std::int64_t groups, std::int64_t n, std::int64_t k,
                                                void* q, const ScaleTensor& scales, CUstream stream) const;

 private:
  std::shared_ptr<const DeviceContext> device_;
  std::shared_ptr<const QuantizationKernels> kernels_;
};

}  // namespace cubinet::jit
