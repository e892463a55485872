// Compiles and loads kernels of given configurations.
#pragma once

#include <map>
#include <memory>

#include "jit/kernel.hpp"
#include "support/gpu_session.hpp"
#include "warmup/campaign/runner.hpp"

namespace cubinet::bench {

// Compiles each of `specs` that the cabinet lacks, with up to `jobs` threads. `cabinet` may be null.
warmup::Report compile_all(const std::vector<jit::KernelSpec>& specs, jit::Compiler& compiler, cache::Cabinet* cabinet,
                           int jobs);

class KernelPool {
 public:
  // The session outlives the pool, and the context of its device is current on the calling thread.
  explicit KernelPool(test::GpuSession& session) : session_(&session) {}

  // Returns the kernel of `spec`. Each kernel is loaded once.
  Expected<std::shared_ptr<const jit::GemmKernel>> get(const jit::KernelSpec& spec);

 private:
  test::GpuSession* session_;
  std::map<jit::KernelSpec, std::shared_ptr<const jit::GemmKernel>> loaded_;
};

}  // namespace cubinet::bench
