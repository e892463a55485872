// Launches the GEMM kernels of sm_90a: encodes tensor maps, fills in the kernel parameters, and sets grid and cluster.
#pragma once

#include "jit/driver.hpp"
#include "jit/gemm_arguments.hpp"
#include "jit/sm90/tile_config.hpp"
#include "util/expected.hpp"

namespace cubinet::jit::sm90 {

// A loaded kernel. The module that owns `function` must outlive this.
struct LaunchableKernel {
  CUfunction function = nullptr;
  TileConfig config;
};

// Allows `function` the dynamic shared memory that its configuration needs. Call this once for each loaded kernel,
// before its first launch. Errors: driver_failed.
Expected<void> prepare_for_launch(const Driver& driver, const LaunchableKernel& kernel);

// Launches asynchronously on `stream`, on at most arguments.num_sms SMs. Preconditions: can_run(problem); the arguments
// have been checked, and a_scales are column-major; rows > 0; the device's context is current. Takes no lock and
// allocates nothing. `driver` is that of the device, or one that a benchmark records launches with.
Expected<void> launch(const Driver& driver, const DeviceInfo& device, const LaunchableKernel& kernel,
                      const Problem& problem, const GemmArguments& arguments, CUstream stream);

}  // namespace cubinet::jit::sm90
