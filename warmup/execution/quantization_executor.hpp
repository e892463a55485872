// Runs the kernels that quantise to FP8 and bring scales into the order of the GEMMs, and compares every bit with the
// same arithmetic on the host.
#pragma once

#include <cstdint>
#include <string>

#include "jit/quantization_kernels.hpp"
#include "util/expected.hpp"
#include "warmup/execution/executor.hpp"

namespace cubinet::warmup {

// Owns small tensors whose sizes are no multiples of what a CTA takes; the kernels' sizes are run-time values. Movable;
// one thread at a time; not to be destroyed while the device hangs.
class QuantizationExecutor {
 public:
  // Exactly the bytes of device memory that it allocates.
  static std::int64_t required_bytes();

  // Allocates. `bench` is borrowed, its quantization kernels are those under test. Errors: driver_failed.
  static Expected<QuantizationExecutor> open(ExecutorBench& bench);

  // Runs each kernel on fresh random operands. What is wrong; empty when nothing is. Errors: driver_failed.
  Expected<std::string> execute();

 private:
  QuantizationExecutor(ExecutorBench& bench, DeviceBuffer memory);

  ExecutorBench* bench_;
  DeviceBuffer memory_;
};

}  // namespace cubinet::warmup
