// Times the compilation of the kernels of a plan, one by one and all together.
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
  double nvrtc_ptx_ms = 0;         // source to PTX, fastest run
  std::optional<double> ptxas_ms;  // that PTX to cubin by a ptxas process; nullopt without a toolkit
  jit::Resources resources;
};

struct PlanTime {
  int jobs = 0;
  double seconds = 0;  // wall time for all kernels of the plan, without a cabinet
};

struct CompileResult {
  std::vector<CompileTime> kernels;
  std::vector<PlanTime> plans;
};

// Compiles each kernel `times` times alone, then the whole plan once for each number of threads in `jobs`. `ptxas` may
// be empty.
Expected<CompileResult> time_compilation(const warmup::Plan& plan, jit::NvrtcCompiler& compiler,
                                         const std::filesystem::path& ptxas, const std::vector<int>& jobs, int times);

std::string table(const CompileResult& result);
nlohmann::json to_json(const CompileResult& result);

}  // namespace cubinet::bench
