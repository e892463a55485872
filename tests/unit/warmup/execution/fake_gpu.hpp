// A fake driver with memory: allocations are counted and backed by the host's, and the kernels that fill, quantize and
// check are stood in for as far as their callers can tell.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "jit/driver.hpp"

namespace cubinet::test {

inline constexpr std::int64_t mib = std::int64_t{1} << 20;

// What the fake GPU holds and answers. One at a time; reset by make_fake_gpu(). The launches are in fake_device().
struct FakeGpu {
  std::size_t total_bytes = std::size_t{1} << 40;
  std::map<CUdeviceptr, std::size_t> allocations;
  std::vector<std::size_t> allocated;  // the size of every allocation there was
  std::size_t peak_bytes = 0;          // most in use, in granules of 2 MiB, one for each loaded module
  int streams = 0;
  bool lost_context = false;       // memory or a stream was asked for or given back while the context was not current
  bool hangs = false;              // a GEMM never ends
  bool stalls = false;             // nothing that is put on a stream ever ends
  bool touched_hung = false;       // something was given back while it, or such a GEMM, ran
  CUresult faults = CUDA_SUCCESS;  // what every call answers after a GEMM was launched
  std::string wrong;               // entry point whose results are wrong
  bool strays = false;             // whether a GEMM writes where no row is valid
};

FakeGpu& fake_gpu();

// A fresh fake GPU, retained.
std::shared_ptr<const jit::DeviceContext> make_fake_gpu();

// Modules on it.
int modules_loaded();

// How often an entry point was launched whose name holds `part`.
int launches_of(const std::string& part);

}  // namespace cubinet::test
