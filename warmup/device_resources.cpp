#include "warmup/device_resources.hpp"

#include <string>

namespace cubinet::warmup {

Expected<DeviceStream> make_stream(const jit::Driver& driver) {
  CUstream stream = nullptr;
  const auto status = driver.check(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  if (!status) return tl::make_unexpected(status.error());
  return DeviceStream(driver, stream);
}

Expected<DeviceEvent> make_event(const jit::Driver& driver) {
  CUevent event = nullptr;
  const auto status = driver.check(driver.cuEventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate");
  if (!status) return tl::make_unexpected(status.error());
  return DeviceEvent(driver, event);
}

Expected<void> DeviceBuffer::reserve(const jit::Driver& driver, std::size_t bytes) {
  if (bytes <= bytes_) return {};
  memory_ = DeviceMemory();  // the temporary frees the old memory first: both may not fit
  bytes_ = 0;
  CUdeviceptr address = 0;
  const auto status =
      driver.check(driver.cuMemAlloc(&address, bytes), "cuMemAlloc of " + std::to_string(bytes) + " bytes");
  if (!status) return status;
  memory_ = DeviceMemory(driver, address);
  bytes_ = bytes;
  return {};
}

}  // namespace cubinet::warmup
