// RAII owners of device memory, streams and events, and a watch over the memory and the progress of one device.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/driver.hpp"
#include "util/expected.hpp"

namespace cubinet::warmup {

// Owns one driver handle, or none; movable. `Destroy` is the member of Driver that destroys it. The driver outlives the
// owner, and the device's context is current on the thread that destroys it.
template <class Handle, auto Destroy>
class DeviceHandle {
 public:
  DeviceHandle() = default;
  DeviceHandle(const jit::Driver& driver, Handle handle) noexcept : driver_(&driver), handle_(handle) {}
  DeviceHandle(DeviceHandle&& other) noexcept : driver_(other.driver_), handle_(std::exchange(other.handle_, {})) {}
  DeviceHandle& operator=(DeviceHandle&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~DeviceHandle() {
    // An error here can only repeat the error of an earlier call, which has been reported.
    if (handle_ != Handle{}) static_cast<void>((driver_->*Destroy)(handle_));
  }

  [[nodiscard]] Handle get() const noexcept { return handle_; }

 private:
  const jit::Driver* driver_ = nullptr;
  Handle handle_{};
};

using DeviceStream = DeviceHandle<CUstream, &jit::Driver::cuStreamDestroy>;
using DeviceEvent = DeviceHandle<CUevent, &jit::Driver::cuEventDestroy>;
using DeviceMemory = DeviceHandle<CUdeviceptr, &jit::Driver::cuMemFree>;

// A stream that does not synchronize with the default stream. Errors: driver_failed.
Expected<DeviceStream> make_stream(const jit::Driver& driver);
// An event that records the time. Errors: driver_failed.
Expected<DeviceEvent> make_event(const jit::Driver& driver);

// Waits for the stream's work, at most `deadline`. The result of the work (error: driver_failed, with `what` in the
// message); nullopt if it has not ended by then.
std::optional<Expected<void>> await_stream(const jit::Driver& driver, CUstream stream,
                                           std::chrono::milliseconds deadline, std::string_view what);

// Device memory that can grow.
class DeviceBuffer {
 public:
  // Grows to at least `bytes`; the contents are lost if it has to grow. Errors: driver_failed, for example if memory is
  // short.
  Expected<void> reserve(const jit::Driver& driver, std::size_t bytes);

  [[nodiscard]] CUdeviceptr address() const noexcept { return memory_.get(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  DeviceMemory memory_;
  std::size_t bytes_ = 0;
};

// Measures the memory that work on one device takes, and waits for that work with a deadline. Borrows the driver; the
// device's context is current on the thread that uses it. One thread at a time.
class DeviceWatch {
 public:
  // Takes the memory in use now as the zero. `deadline`: the longest that a wait may last. Errors: driver_failed.
  static Expected<DeviceWatch> start(const jit::Driver& driver, std::chrono::milliseconds deadline);

  // Bytes in use on the whole device beyond those at the start. Memory that other processes allocate or free counts
  // too. Errors: driver_failed.
  Expected<std::int64_t> used();
  [[nodiscard]] std::int64_t peak() const noexcept { return peak_; }  // the largest result of used()
  [[nodiscard]] std::int64_t free_at_start() const noexcept { return static_cast<std::int64_t>(free_); }

  // Waits for all work on the stream. Errors: driver_failed if the work failed or did not end before the deadline. In
  // the second case hung() is true from then on, and memory that the device may still use must not be freed; see
  // abandon().
  Expected<void> wait(const std::string& what, CUstream stream);
  [[nodiscard]] bool hung() const noexcept { return hung_; }

 private:
  DeviceWatch(const jit::Driver& driver, std::chrono::milliseconds deadline, std::size_t free)
      : driver_(&driver), deadline_(deadline), free_(free) {}

  const jit::Driver* driver_;
  std::chrono::milliseconds deadline_;
  std::size_t free_;
  std::int64_t peak_ = 0;
  bool hung_ = false;
};

// Keeps the object until the process ends. For memory that a hanging device may still use: freeing it would block for
// ever.
template <class T>
void abandon(std::unique_ptr<T> owned) {
  static auto& kept = *new std::vector<std::shared_ptr<void>>;
  kept.push_back(std::move(owned));
}

}  // namespace cubinet::warmup
