#include "compile_run.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ptxas.hpp"
#include "util/clock.hpp"
#include "warmup/campaign/runner.hpp"

namespace cubinet::bench {
namespace {

// Wall time of one call of `work` in milliseconds.
template <class Work>
double milliseconds(const Work& work) {
  const util::Moment begin = util::now();
  work();
  return util::milliseconds_since(begin);
}

void keep_smaller(double& best, double value) { best = best == 0 ? value : std::min(best, value); }

Expected<CompileTime> time_kernel(const jit::KernelSpec& spec, jit::NvrtcCompiler& compiler,
                                  const std::filesystem::path& ptxas, int times) {
  CompileTime result{spec, 0, 0, {}, {}};
  Expected<jit::CompiledKernel> compiled;
  Expected<std::string> ptx;
  for (int i = 0; i < times; ++i) {
    keep_smaller(result.nvrtc_ms, milliseconds([&] { compiled = compiler.compile(spec); }));
    if (!compiled) return propagate(compiled);
    keep_smaller(result.nvrtc_ptx_ms, milliseconds([&] { ptx = compiler.compile_to_ptx(spec); }));
    if (!ptx) return propagate(ptx);
  }
  result.resources = compiled->resources;
  if (ptxas.empty()) return result;
  const auto assembled = time_ptxas(ptxas, *ptx, spec.architecture, times);
  if (!assembled) return propagate(assembled);
  result.ptxas_ms = *assembled;
  return result;
}

}  // namespace

Expected<CompileResult> time_compilation(const warmup::Plan& plan, jit::NvrtcCompiler& compiler,
                                         const std::filesystem::path& ptxas, const std::vector<int>& jobs, int times) {
  CompileResult result;
  for (const auto& kernel : plan.kernels) {
    auto time = time_kernel(kernel.spec, compiler, ptxas, times);
    if (!time) return propagate(time);
    result.kernels.push_back(std::move(*time));
  }
  for (const int threads : jobs) {
    const auto report = warmup::warm(plan, compiler, nullptr, threads, {});
    if (!report.failed.empty()) return fail(report.failed.front().error);
    result.plans.push_back({threads, report.seconds});
  }
  return result;
}

std::string table(const CompileResult& result) {
  std::string text = fmt::format("{:<64} {:>8} {:>8} {:>8} {:>6} {:>5} {:>6}\n", "kernel", "nvrtc ms", "ptx ms",
                                 "ptxas ms", "ratio", "regs", "spill");
  for (const CompileTime& k : result.kernels) {
    const std::string ptxas = k.ptxas_ms ? fmt::format("{:8.0f} {:6.2f}", *k.ptxas_ms, k.nvrtc_ms / *k.ptxas_ms)
                                         : fmt::format("{:>8} {:>6}", "-", "-");
    text += fmt::format("{:<64} {:8.0f} {:8.0f} {} {:5} {:6}\n", jit::describe(k.spec), k.nvrtc_ms, k.nvrtc_ptx_ms,
                        ptxas, k.resources.registers, k.resources.spill_bytes);
  }
  for (const PlanTime& p : result.plans) {
    text += fmt::format("all {} kernels, {} thread{}: {:.2f} s, {:.2f} times the rate of {}\n", result.kernels.size(),
                        p.jobs, p.jobs == 1 ? "" : "s", p.seconds, result.plans.front().seconds / p.seconds,
                        result.plans.front().jobs);
  }
  return text;
}

nlohmann::json to_json(const CompileResult& result) {
  auto kernels = nlohmann::json::array();
  for (const CompileTime& k : result.kernels) {
    nlohmann::json object = {{"family", k.spec.family_name()},
                             {"n", k.spec.n},
                             {"k", k.spec.k},
                             {"config", k.spec.config},
                             {"nvrtc_ms", k.nvrtc_ms},
                             {"nvrtc_ptx_ms", k.nvrtc_ptx_ms},
                             {"ptxas_ms", nullptr},
                             {"registers", k.resources.registers},
                             {"spill_bytes", k.resources.spill_bytes}};
    if (k.ptxas_ms) object["ptxas_ms"] = *k.ptxas_ms;
    kernels.push_back(std::move(object));
  }
  auto plans = nlohmann::json::array();
  for (const PlanTime& p : result.plans) plans.push_back({{"jobs", p.jobs}, {"seconds", p.seconds}});
  return {{"kernels", kernels}, {"plans", plans}};
}

}  // namespace cubinet::bench
