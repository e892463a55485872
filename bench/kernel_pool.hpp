// Kernels of chosen configurations, compiled and loaded.
#pragma once

#include <map>

#include "jit/launch.hpp"
#include "jit/loader.hpp"
#include "warmup/gpu_session.hpp"
#include "warmup/runner.hpp"

namespace cubinet::bench {

class KernelPool {
 public:
  // The session outlives the pool, and its device's context is current on the calling thread.
  explicit KernelPool(warmup::GpuSession& session) : session_(&session) {}

  // Compiles what the cabinet lacks with several threads, so that get() finds it. Failures show in get().
  warmup::Report compile(const std::vector<jit::KernelSpec>& specs, int jobs);

  // The kernel of `spec`, loaded once.
  Expected<jit::LaunchableKernel> get(const jit::KernelSpec& spec);

 private:
  warmup::GpuSession* session_;
  std::map<jit::KernelSpec, std::pair<jit::LoadedModule, jit::LaunchableKernel>> loaded_;
};

}  // namespace cubinet::bench
