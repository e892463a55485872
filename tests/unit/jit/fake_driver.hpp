// A driver without a device: a table of functions that note what they are asked.
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

// A launch as the driver saw it.
struct FakeLaunch {
  CUfunction function = nullptr;
  std::string name;  // of the entry point; empty for a function that no library gave out
  unsigned ctas = 0;
  unsigned threads = 0;
  CUstream stream = nullptr;
  // In words of 8 bytes: one for each parameter of the entry points of fp8_quantization, and the block that is the one
  // parameter of a GEMM.
  std::vector<std::uint64_t> parameters;
};

// What the fake driver makes of a tensor map of two dimensions.
struct FakeMap {
  std::uint64_t base;
  std::uint64_t columns;
  std::uint64_t rows;
};

// What the fake driver saw and answers. One at a time; reset by make_fake_driver(). The driver's functions may be
// called from several threads; look at it when none does.
struct FakeDevice {
  int compute_major = 9;
  int compute_minor = 0;
  int num_sms = 132;
  int driver_version = 13000;  // as cuDriverGetVersion answers
  static inline thread_local CUcontext current = nullptr;
  int pushes = 0;
  int pops = 0;
  int retained = 0;                 // primary contexts
  std::vector<std::string> loaded;  // payloads handed to the driver
  int unloaded = 0;
  std::vector<std::string> entry_points;  // asked for, in this order
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

// The context that the fake device's primary context is.
CUcontext fake_context();

// A table over a fresh fake device.
std::shared_ptr<const jit::Driver> make_fake_driver();

// The fake device number 0, retained.
std::shared_ptr<const jit::DeviceContext> make_fake_context();

}  // namespace cubinet::test
