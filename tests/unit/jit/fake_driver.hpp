// A fake driver: a table of functions that record their calls.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jit/driver.hpp"

namespace cubinet::test {

// Device addresses for launches, which nothing reads or writes.
inline void* address(std::uint64_t number) { return reinterpret_cast<void*>(number); }
inline const void* aligned_pointer() { return address(0x10000); }

// The arguments of a launch.
struct FakeLaunch {
  CUfunction function = nullptr;
  std::string name;  // of the entry point; empty for a function of no library
  unsigned ctas = 0;
  unsigned threads = 0;
  CUstream stream = nullptr;
  // In words of 8 bytes: one for each parameter of fp8_quantization's entry points; for a GEMM, the block that is its
  // only parameter.
  std::vector<std::uint64_t> parameters;
};

// The contents of a tensor map that the fake driver encodes.
struct FakeMap {
  std::uint64_t base;
  std::uint64_t columns;
  std::uint64_t rows;
};

// The calls and the results of the fake driver. There is one object, which make_fake_driver() resets. The driver's
// functions may be called from several threads; read the object while none is called.
struct FakeDevice {
  int compute_major = 9;
  int compute_minor = 0;
  int num_sms = 132;
  int driver_version = 13000;  // the result of cuDriverGetVersion
  static inline thread_local CUcontext current = nullptr;
  int pushes = 0;
  int pops = 0;
  int retained = 0;                 // primary contexts
  std::vector<std::string> loaded;  // payloads passed to the driver
  int unloaded = 0;
  std::vector<std::string> entry_points;  // looked up, in this order
  std::vector<FakeLaunch> history;        // every launch
  int launches = 0;
  int encoded_maps = 0;
  CUfunction launched = nullptr;  // by the latest launch
  CUstream stream = nullptr;      // of the latest launch
  CUresult launch_result = CUDA_SUCCESS;
  CUstream captured = nullptr;  // the stream that is being captured into a graph; none if null
  static inline thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  int relaxed = 0;                // times that a thread's capture mode became the relaxed one
  int loads_outside_relaxed = 0;  // libraries loaded in another mode
};

FakeDevice& fake_device();

// The handle of the fake device's primary context.
CUcontext fake_context();

// A driver table for a new fake device.
std::shared_ptr<const jit::Driver> make_fake_driver();

// The fake device number 0, retained.
std::shared_ptr<const jit::DeviceContext> make_fake_context();

}  // namespace cubinet::test
