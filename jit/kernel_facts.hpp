// What the cabinet stores of a kernel besides its identity, as details of an entry (cache/object.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/object.hpp"

namespace cubinet::jit {

struct KernelFacts {
  std::string family;
  std::int64_t n = 0;  // as in KernelSpec; 0 for kernels that take N and K at run time
  std::int64_t k = 0;
  std::string config;            // distinguishes kernels with equal family, N and K; empty in objects of earlier builds
  std::int32_t registers = 0;    // per thread
  std::int32_t spill_bytes = 0;  // per thread
  std::int32_t smem_bytes = 0;   // shared memory of a launch, static and dynamic
  std::vector<std::string> kernel_names{};  // entry points in the cubin

  friend bool operator==(const KernelFacts&, const KernelFacts&) = default;
};

cache::Details to_details(const KernelFacts& facts);

// A missing detail gives 0 or an empty value. A number beyond 32 bits, which only a damaged index holds, is truncated.
KernelFacts kernel_facts(const cache::Facts& facts);

}  // namespace cubinet::jit
