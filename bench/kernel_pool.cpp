#include "kernel_pool.hpp"

#include <set>
#include <utility>

#include "jit/provide.hpp"

namespace cubinet::bench {

warmup::Report compile_all(const std::vector<jit::KernelSpec>& specs, jit::Compiler& compiler, cache::Cabinet* cabinet,
                           int jobs) {
  warmup::Plan plan;
  for (const auto& spec : std::set<jit::KernelSpec>(specs.begin(), specs.end())) plan.kernels.push_back({spec, {}});
  return warmup::warm(plan, compiler, cabinet, jobs, {});
}

Expected<std::shared_ptr<const jit::GemmKernel>> KernelPool::get(const jit::KernelSpec& spec) {
  const auto known = loaded_.find(spec);
  if (known != loaded_.end()) return known->second;
  const auto provided = jit::provide(spec, *session_->compiler, session_->cabinet_or_null());
  if (!provided) return propagate(provided);
  auto kernel = jit::load_kernel<jit::GemmKernel>(session_->device, spec, provided->object.payload);
  if (!kernel) return propagate(kernel);
  return loaded_.emplace(spec, std::move(*kernel)).first->second;
}

}  // namespace cubinet::bench
