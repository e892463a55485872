// The target for which kernels are selected and compiled.
#pragma once

#include <cstdint>
#include <string>

#include "util/expected.hpp"

namespace cubinet::jit {

struct DeviceInfo;

struct Target {
  std::string architecture = "sm_90a";
  std::int32_t sms = 132;  // streaming multiprocessors

  friend bool operator==(const Target&, const Target&) = default;
};

// unsupported, with the list of the supported architectures, when `architecture` is not one of them. The list is exact:
// sm_90 is not sm_90a.
Expected<void> check_architecture(const std::string& architecture);

// The target of a device. Error: wrong_device, which names the device, if no architecture of the list runs on it.
Expected<Target> target_of(const DeviceInfo& device);

// wrong_device when code for `architecture` does not run on the device. Exact: compute capability 9.0 runs sm_90a and
// nothing else.
Expected<void> check_device(const std::string& architecture, const DeviceInfo& device);

}  // namespace cubinet::jit
