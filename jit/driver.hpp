// The CUDA driver, opened at run time, so that one binary runs on machines with and without a GPU. This is the only
// module that includes cuda.h.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/expected.hpp"

// The functions of the driver that Cubinet calls, with their names in the manual. cuda.h maps some of them to versioned
// names by macros. The macros expand in the same way where the members are declared and where they are used, so the
// names of the manual work everywhere.
#define CUBINET_DRIVER_FUNCTIONS(X)              \
  X(cuInit)                                      \
  X(cuDriverGetVersion)                          \
  X(cuGetErrorName)                              \
  X(cuGetErrorString)                            \
  X(cuDeviceGet)                                 \
  X(cuDeviceGetCount)                            \
  X(cuDeviceGetName)                             \
  X(cuDeviceGetAttribute)                        \
  X(cuDeviceTotalMem)                            \
  X(cuDevicePrimaryCtxRetain)                    \
  X(cuDevicePrimaryCtxRelease)                   \
  X(cuCtxSetCurrent)                             \
  X(cuCtxGetCurrent)                             \
  X(cuCtxPushCurrent)                            \
  X(cuCtxPopCurrent)                             \
  X(cuCtxSynchronize)                            \
  X(cuMemAlloc)                                  \
  X(cuMemFree)                                   \
  X(cuMemGetInfo)                                \
  X(cuMemcpyHtoD)                                \
  X(cuMemcpyDtoH)                                \
  X(cuMemcpyHtoDAsync)                           \
  X(cuMemcpyDtoHAsync)                           \
  X(cuMemsetD8Async)                             \
  X(cuMemsetD16Async)                            \
  X(cuMemsetD32Async)                            \
  X(cuPointerGetAttribute)                       \
  X(cuStreamCreate)                              \
  X(cuStreamDestroy)                             \
  X(cuStreamSynchronize)                         \
  X(cuStreamQuery)                               \
  X(cuStreamIsCapturing)                         \
  X(cuStreamBeginCapture)                        \
  X(cuStreamEndCapture)                          \
  X(cuThreadExchangeStreamCaptureMode)           \
  X(cuGraphInstantiateWithFlags)                 \
  X(cuGraphLaunch)                               \
  X(cuGraphDestroy)                              \
  X(cuGraphExecDestroy)                          \
  X(cuEventCreate)                               \
  X(cuEventDestroy)                              \
  X(cuEventRecord)                               \
  X(cuEventSynchronize)                          \
  X(cuEventQuery)                                \
  X(cuEventElapsedTime)                          \
  X(cuLibraryLoadData)                           \
  X(cuLibraryUnload)                             \
  X(cuLibraryGetKernel)                          \
  X(cuKernelGetFunction)                         \
  X(cuFuncSetAttribute)                          \
  X(cuFuncGetAttribute)                          \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(cuLaunchKernel)                              \
  X(cuLaunchKernelEx)                            \
  X(cuTensorMapEncodeTiled)

namespace cubinet::jit {

// A table of the functions of the driver. Immutable once it is open, hence thread-safe. libcuda stays loaded until the
// process ends. A test may fill a table of its own.
struct Driver {
#define CUBINET_DRIVER_MEMBER(function) decltype(&::function) function = nullptr;
  CUBINET_DRIVER_FUNCTIONS(CUBINET_DRIVER_MEMBER)
#undef CUBINET_DRIVER_MEMBER

  // Loads a function into the device's memory ahead of its first launch; null with drivers before 12.4.
  decltype(&::cuFuncLoad) cuFuncLoad = nullptr;

  // The path of the library as the loader found it. If that is a link, its target follows: "A (a link to B)".
  std::string path;

  // Opens libcuda.so.1, else libcuda.so, through the loader's search path and initializes it. Error: driver_missing,
  // which says what was tried and what to do, or that the library is a toolkit's stub, or that there is no device.
  static Expected<std::shared_ptr<const Driver>> open();

  // The CUDA version of the driver as cuDriverGetVersion returns it: 12040 for 12.4. 0 if that call fails.
  [[nodiscard]] int version() const noexcept;

  // Converts `result` to success or to driver_failed with the name and the text that the driver has for it. `what` is
  // the call and its object, such as "cuMemAlloc of 4096 bytes".
  Expected<void> check(CUresult result, std::string_view what) const {
    if (result == CUDA_SUCCESS) [[likely]]
      return {};
    return failure(result, what);
  }

 private:
  Expected<void> failure(CUresult result, std::string_view what) const;
};

// Whether work that is put on `stream` now would be recorded into a CUDA graph. Also true for the default stream while
// another stream is being captured and the driver therefore forbids its use (CUDA_ERROR_STREAM_CAPTURE_IMPLICIT). Needs
// no current context. Errors: driver_failed.
Expected<bool> is_capturing(const Driver& driver, CUstream stream);

// Properties of a device.
struct DeviceInfo {
  int ordinal = 0;
  std::string name;
  int num_sms = 0;
  int compute_major = 0;
  int compute_minor = 0;
  std::size_t total_bytes = 0;

  // The SMs that a launch may occupy, limited to `most`; 0: no limit.
  [[nodiscard]] int sms_within(int most) const { return most > 0 ? std::min(most, num_sms) : num_sms; }
};

// Reads the properties of a device without creating a context on it. Errors: driver_missing if no device has this
// ordinal, driver_failed.
Expected<DeviceInfo> describe_device(const Driver& driver, int ordinal);

// A retained primary context, which the CUDA runtime and therefore PyTorch use, too. Owning and movable; the destructor
// releases the context. Const members are thread-safe.
class DeviceContext {
 public:
  // Errors: driver_missing if no device has this ordinal, driver_failed.
  static Expected<DeviceContext> retain(std::shared_ptr<const Driver> driver, int ordinal);
  DeviceContext(DeviceContext&& other) noexcept;
  DeviceContext& operator=(DeviceContext&& other) noexcept;
  ~DeviceContext();

  [[nodiscard]] const Driver& driver() const noexcept { return *driver_; }
  [[nodiscard]] const std::shared_ptr<const Driver>& shared_driver() const noexcept { return driver_; }
  [[nodiscard]] CUcontext handle() const noexcept { return context_; }
  [[nodiscard]] const DeviceInfo& info() const noexcept { return info_; }

 private:
  DeviceContext(std::shared_ptr<const Driver> driver, CUdevice device, CUcontext context, DeviceInfo info) noexcept;
  std::shared_ptr<const Driver> driver_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  DeviceInfo info_;
};

// Opens the driver of this machine and retains the primary context of a device, for shared use. Errors: those of
// Driver::open and DeviceContext::retain.
Expected<std::shared_ptr<const DeviceContext>> open_device(int ordinal);

// Makes the context of a device current on this thread for a scope, and then restores the previous one. Costs one cheap
// driver call if the context is already current. `status` tells whether it succeeded.
class CurrentContext {
 public:
  explicit CurrentContext(const DeviceContext& device) : driver_(device.driver()), result_(enter(device.handle())) {}
  ~CurrentContext() {
    CUcontext left = nullptr;
    if (pushed_) driver_.cuCtxPopCurrent(&left);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

  [[nodiscard]] Expected<void> status() const { return driver_.check(result_, "making the device's context current"); }

 private:
  CUresult enter(CUcontext wanted) {
    CUcontext present = nullptr;
    const CUresult result = driver_.cuCtxGetCurrent(&present);
    if (result != CUDA_SUCCESS || present == wanted) return result;
    const CUresult push = driver_.cuCtxPushCurrent(wanted);
    pushed_ = push == CUDA_SUCCESS;
    return push;
  }

  const Driver& driver_;
  bool pushed_ = false;
  CUresult result_;
};

// Lets this thread load code during a scope while another thread captures a stream into a graph. Calls that the driver
// considers unsafe during a capture then fail only on the captured stream. See cuThreadExchangeStreamCaptureMode.
class CaptureSafe {
 public:
  explicit CaptureSafe(const Driver& driver) : driver_(driver) { driver_.cuThreadExchangeStreamCaptureMode(&mode_); }
  ~CaptureSafe() { driver_.cuThreadExchangeStreamCaptureMode(&mode_); }
  CaptureSafe(const CaptureSafe&) = delete;
  CaptureSafe& operator=(const CaptureSafe&) = delete;

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace cubinet::jit
