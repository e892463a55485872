// The quantiser behind cubinet::Quantizer: the checks before its launches.
#pragma once

#include <cstdint>
#include <memory>

#include "cubinet/scales.hpp"
#include "jit/driver.hpp"
#include "jit/quantization_kernels.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// Immutable, hence thread-safe; keeps its device and kernels alive. See Quantizer in cubinet/cubinet.hpp for what the
// members promise. No rows, or an empty tensor of weights, launch nothing.
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
