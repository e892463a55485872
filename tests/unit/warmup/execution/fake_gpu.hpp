// A fake driver with memory: allocations are counted and backed by host memory, and the verification and quantization
// kernels are simulated on the host.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "jit/driver.hpp"

namespace cubinet::test {

inline constexpr std::int64_t mib = std::int64_t{1} << 20;

// The state and the results of the fake GPU. There is one object, which make_fake_gpu() resets. The launches are in
// fake_device().
struct FakeGpu {
  std::size_t total_bytes = std::size_t{1} << 40;
  std::map<CUdeviceptr, std::size_t> allocations;
  std::vector<std::size_t> allocated;  // the sizes of all allocations
  std::size_t peak_bytes = 0;          // most in use, in granules of 2 MiB, one for each loaded module
  int streams = 0;
  bool lost_context = false;       // memory or a stream was allocated or freed while the context was not current
  bool hangs = false;              // a GEMM never ends
  bool stalls = false;             // no work on a stream ever ends
  bool touched_hung = false;       // something was freed while work that never ends was running
  CUresult faults = CUDA_SUCCESS;  // the result of every call after a GEMM was launched
  std::string wrong;               // entry point whose results are wrong
  bool strays = false;             // whether a GEMM writes to padding rows
};

FakeGpu& fake_gpu();

// Creates a new fake GPU and retains its context.
std::shared_ptr<const jit::DeviceContext> make_fake_gpu();

// The number of loaded modules.
int modules_loaded();

// The number of launches of entry points whose name contains `part`.
int launches_of(const std::string& part);

}  // namespace cubinet::test
