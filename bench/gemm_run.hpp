// Checks all cases of cubinet_bench_gemm, then times them in rounds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gemm_report.hpp"
#include "kernel_pool.hpp"
#include "stopwatch.hpp"
#include "variants.hpp"

namespace cubinet::bench {

struct GemmOptions {
  std::vector<Case> cases;
  std::vector<Variant> variants;
  std::uint64_t seed = 0;
  int rounds = 3;
  int jobs = 1;
  bool check = true;
  bool selected = true;   // time the selected configuration as well as the variants
  double budget_ms = 30;  // time for the launches of one case in one round
  int pause_ms = 0;       // pause before each timing; 0 means 50, or 150 for compute-bound cases
};

struct GemmResult {
  std::vector<Measurement> measurements;
  double empty_us = 0;    // time between two events around an empty kernel, with the same L2 flush
  bool all_right = true;  // false if a check failed
};

// The kernels that a run needs, including the verification kernels, so that they can be compiled in advance.
std::vector<jit::KernelSpec> kernels_of(const GemmOptions& options);

// Prints progress to standard error. Errors: those of the driver. A configuration that fails to compile or computes a
// wrong result is not an error: its Measurement says so and has no time.
Expected<GemmResult> run_gemm(test::GpuSession& session, const GemmOptions& options);

}  // namespace cubinet::bench
