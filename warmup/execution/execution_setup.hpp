// The stream and the verification kernels that an execution keeps on the device from its first to its last kernel.
#pragma once

#include <memory>

#include "jit/driver.hpp"
#include "util/expected.hpp"
#include "warmup/execution/device_resources.hpp"
#include "warmup/execution/execution.hpp"
#include "warmup/execution/execution_size.hpp"
#include "warmup/execution/verification_kernels.hpp"

namespace cubinet::warmup {

struct ExecutionSetup {
  std::shared_ptr<const jit::DeviceContext> device;
  DeviceStream stream;
  VerificationKernels verification;
};

// Device memory that the stream and the verification kernels take, as measured on an H200 (bench/results). They are not
// loaded if the budget has no room for them beside the tensors.
inline constexpr std::int64_t kSetupBytes = 2 * device_granule();

// Makes the stream, loads the verification kernels and runs an empty one. Errors: those of the compiler and the
// cabinet, wrong_device, driver_failed. After a hang, `watch` says so, and what the device may still use has been
// abandoned.
Expected<std::unique_ptr<ExecutionSetup>> open_setup(const ExecutionParts& parts, DeviceWatch& watch);

}  // namespace cubinet::warmup
