// Times the compilation of a plan's kernels, one by one and together.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "jit/compiler.hpp"
#include "warmup/planning/plan.hpp"

namespace cubinet::bench {

struct CompileTime {
  jit::KernelSpec spec;
  double nvrtc_ms = 0;             // source to cubin, fastest run
  double nvrtc_ptx_ms = 0;         // source to PTX alone
  std::optional<double> ptxas_ms;  // the same PTX through ptxas as a process; none without a toolkit
  jit::Resources resources;
};

struct PlanTime {
  int jobs = 0;
  double seconds = 0;  // wall time for all kernels of the plan, nothing cached
};

struct CompileResult {
  std::vector<CompileTime> kernels;
  std::vector<PlanTime> plans;
};

// Each kernel `times` times alone, then the whole plan with each count of threads. `ptxas` may be empty.
Expected<CompileResult> time_compilation(const warmup::Plan& plan, jit::NvrtcCompiler& compiler,
                                         const std::filesystem::path& ptxas, const std::vector<int>& jobs, int times);

std::string table(const CompileResult& result);
nlohmann::json to_json(const CompileResult& result);

}  // namespace cubinet::bench
