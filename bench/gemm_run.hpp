// The run of cubinet_bench_gemm: checks every case, then times all of them in rounds.
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
  double budget_ms = 30;  // of timed launches per case and round
  int pause_ms = 0;       // before each timing; 0: 50, or 150 for compute-bound cases
};

struct GemmResult {
  std::vector<Measurement> measurements;
  double empty_us = 0;    // an empty kernel, event to event, under the same flush
  bool all_right = true;  // no check failed
};

// The kernels that a run needs, verification kernels included; to compile them ahead.
std::vector<jit::KernelSpec> kernels_of(const GemmOptions& options);

// Progress goes to standard error. Errors: the driver's; a configuration that does not compile or is wrong is no
// error but stands in its Measurement, untimed.
Expected<GemmResult> run_gemm(test::GpuSession& session, const GemmOptions& options);

}  // namespace cubinet::bench
