// The device memory that an execution may take.
#pragma once

#include <cstdint>
#include <string>

#include "util/expected.hpp"
#include "warmup/execution/device_resources.hpp"

namespace cubinet::warmup {

// Borrows the watch. One thread at a time. Errors of all functions: driver_failed.
class MemoryBudget {
 public:
  // `bytes`: the most that may be in use beyond what was in use when the watch was started.
  MemoryBudget(DeviceWatch& watch, std::int64_t bytes) : watch_(&watch), bytes_(bytes) {}

  // Bytes that can still be taken: the smaller of what the budget leaves and what is free on the device. May be
  // negative.
  Expected<std::int64_t> available();

  // Why `bytes` more cannot be taken, as a message for the user; empty if they can.
  Expected<std::string> shortage(std::int64_t bytes);

 private:
  [[nodiscard]] std::int64_t available(std::int64_t used) const;

  DeviceWatch* watch_;
  std::int64_t bytes_;
};

}  // namespace cubinet::warmup
