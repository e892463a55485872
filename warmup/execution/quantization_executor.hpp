// Runs the kernels that quantize to FP8 and that transpose scales, and compares every bit with the same arithmetic on
// the host.
#pragma once

#include <cstdint>
#include <string>

#include "jit/quantization_kernels.hpp"
#include "util/expected.hpp"
#include "warmup/execution/executor.hpp"

namespace cubinet::warmup {

// Owns small tensors with sizes that are not multiples of what a thread block takes; the kernels take all sizes at run
// time. Movable; one thread at a time; must not be destroyed while the device hangs.
class QuantizationExecutor {
 public:
  // Bytes of device memory that it allocates.
  static std::int64_t required_bytes();

  // Allocates. `context` is borrowed; its quantization kernels are under test. Errors: driver_failed.
  static Expected<QuantizationExecutor> open(ExecutorContext& context);

  // Runs each kernel on new random operands. The result describes the first difference; it is empty if there is none.
  // Errors: driver_failed.
  Expected<std::string> execute();

 private:
  QuantizationExecutor(ExecutorContext& context, DeviceBuffer memory);

  ExecutorContext* context_;
  DeviceBuffer memory_;
};

}  // namespace cubinet::warmup
