// Device memory, streams and events that go when their owner goes; and what is known of a device while it works.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "jit/driver.hpp"
#include "util/expected.hpp"

namespace cubinet::warmup {

// Owns one handle of the driver, or none; movable. `Destroy` is the member of Driver that gives it back. The driver
// outlives it, and the device's context is current on the thread that destroys it.
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
    // A failure here can only repeat that of an earlier call, which has been reported.
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

// A stream that does not wait for the default stream.
Expected<DeviceStream> make_stream(const jit::Driver& driver);
// An event that takes the time.
Expected<DeviceEvent> make_event(const jit::Driver& driver);

// What the stream's work ended with, as soon as it has; nothing when it has not after `deadline`. `what` names it in
// the error.
std::optional<Expected<void>> await_stream(const jit::Driver& driver, CUstream stream,
                                           std::chrono::milliseconds deadline, std::string_view what);

// Device memory that grows.
class DeviceBuffer {
 public:
  // Makes room for `bytes`. What a smaller buffer held is lost. Error driver_failed, when memory is short for one.
  Expected<void> reserve(const jit::Driver& driver, std::size_t bytes);

  [[nodiscard]] CUdeviceptr address() const noexcept { return memory_.get(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  DeviceMemory memory_;
  std::size_t bytes_ = 0;
};

// Watches what is put on one device: the memory that it takes, and that it ends. Borrows the driver; the device's
// context is current on the thread that uses it.
class DeviceWatch {
 public:
  // Counts memory from now on. `deadline`: how long a wait may last.
  static Expected<DeviceWatch> start(const jit::Driver& driver, std::chrono::milliseconds deadline);

  // Bytes that the whole device has less of than at the start: what other processes take or give back counts, too.
  Expected<std::int64_t> used();
  [[nodiscard]] std::int64_t peak() const noexcept { return peak_; }  // the most that used() has answered
  [[nodiscard]] std::int64_t free_at_start() const noexcept { return static_cast<std::int64_t>(free_); }

  // Waits for all that was put on the stream. driver_failed when it failed, or did not end in time: then hung() is
  // true, and nothing that may still be in use can be given back.
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

}  // namespace cubinet::warmup
