// Kernels of chosen configurations, compiled and loaded.
#pragma once

#include <map>
#include <memory>

#include "jit/kernel.hpp"
#include "support/gpu_session.hpp"
#include "warmup/campaign/runner.hpp"

namespace cubinet::bench {

// Compiles what the cabinet (may be null) lacks, each once, with several threads.
warmup::Report compile_all(const std::vector<jit::KernelSpec>& specs, jit::Compiler& compiler, cache::Cabinet* cabinet,
                           int jobs);

class KernelPool {
 public:
  // The session outlives the pool, and its device's context is current on the calling thread.
  explicit KernelPool(test::GpuSession& session) : session_(&session) {}

  // The kernel of `spec`, loaded once.
  Expected<std::shared_ptr<const jit::GemmKernel>> get(const jit::KernelSpec& spec);

 private:
  test::GpuSession* session_;
  std::map<jit::KernelSpec, std::shared_ptr<const jit::GemmKernel>> loaded_;
};

}  // namespace cubinet::bench
