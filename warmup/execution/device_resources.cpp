#include "warmup/execution/device_resources.hpp"

#include <algorithm>
#include <string>
#include <thread>

#include "util/clock.hpp"

namespace cubinet::warmup {

Expected<DeviceStream> make_stream(const jit::Driver& driver) {
  CUstream stream = nullptr;
  const auto status = driver.check(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  if (!status) return propagate(status);
  return DeviceStream(driver, stream);
}

Expected<DeviceEvent> make_event(const jit::Driver& driver) {
  CUevent event = nullptr;
  const auto status = driver.check(driver.cuEventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate");
  if (!status) return propagate(status);
  return DeviceEvent(driver, event);
}

std::optional<Expected<void>> await_stream(const jit::Driver& driver, CUstream stream,
                                           std::chrono::milliseconds deadline, std::string_view what) {
  const auto limit = util::now() + deadline;
  for (;;) {
    const CUresult result = driver.cuStreamQuery(stream);
    if (result != CUDA_ERROR_NOT_READY) return driver.check(result, what);
    if (util::now() > limit) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
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

namespace {

Expected<std::size_t> free_bytes(const jit::Driver& driver) {
  std::size_t free = 0;
  std::size_t total = 0;
  return driver.check(driver.cuMemGetInfo(&free, &total), "cuMemGetInfo").map([&] { return free; });
}

}  // namespace

Expected<DeviceWatch> DeviceWatch::start(const jit::Driver& driver, std::chrono::milliseconds deadline) {
  return free_bytes(driver).map([&](std::size_t free) { return DeviceWatch(driver, deadline, free); });
}

Expected<std::int64_t> DeviceWatch::used() {
  return free_bytes(*driver_).map([&](std::size_t free) {
    const auto used = static_cast<std::int64_t>(free_) - static_cast<std::int64_t>(free);
    peak_ = std::max(peak_, used);
    return used;
  });
}

Expected<void> DeviceWatch::wait(const std::string& what, CUstream stream) {
  if (auto ended = await_stream(*driver_, stream, deadline_, what)) return *std::move(ended);
  hung_ = true;
  return fail(ErrorCode::driver_failed,
              what + " did not end within " + std::to_string(deadline_.count()) + " ms; the device hangs");
}

}  // namespace cubinet::warmup
