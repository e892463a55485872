#include "kernel_pool.hpp"

#include <set>
#include <utility>

#include "jit/provide.hpp"

namespace cubinet::bench {

warmup::Report compile_all(const std::vector<jit::KernelSpec>& specs, jit::Compiler& compiler, cache::Cabinet* cabinet,
                           int jobs) {
  warmup::Plan plan;
  for (const auto& spec : std::set<jit::KernelSpec>(specs.begin(), specs.end())) plan.kernels.push_back({spec, {}});
  return warmup::warm(plan, compiler, cabinet, jobs, [](auto, auto, const auto&) {});
}

Expected<jit::LaunchableKernel> KernelPool::get(const jit::KernelSpec& spec) {
  const auto known = loaded_.find(spec);
  if (known != loaded_.end()) return known->second.second;
  const auto provided = jit::provide(spec, *session_->compiler, session_->cabinet_or_null());
  if (!provided) return tl::make_unexpected(provided.error());
  auto module = jit::LoadedModule::load(session_->device, provided->object.payload, spec.architecture);
  if (!module) return tl::make_unexpected(module.error());
  const auto function = module->function(spec.family);
  if (!function) return tl::make_unexpected(function.error());
  const jit::LaunchableKernel kernel{*function, spec.config};
  const auto prepared = jit::prepare_for_launch(session_->device->driver(), kernel);
  if (!prepared) return tl::make_unexpected(prepared.error());
  loaded_.emplace(spec, std::pair(std::move(*module), kernel));
  return kernel;
}

}  // namespace cubinet::bench
