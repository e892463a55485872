#include "warmup/planning/plan_json.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "jit/accepted_compilers.hpp"
#include "util/json_text.hpp"

namespace cubinet::warmup {
namespace {

using util::json_array;
using util::json_object;
using util::json_string;

std::string range_json(MRange range) { return fmt::format("[{},{}]", range.first, range.last); }

std::string ranges_json(const std::vector<MRange>& ranges) {
  std::vector<std::string> elements;
  for (const MRange& range : ranges) elements.push_back(range_json(range));
  return json_array(elements);
}

// The configuration's name and every constant of it. A kernel that takes no constants has an empty name alone.
std::string config_json(const jit::KernelSpec& spec) {
  const std::string name = json_string(jit::config_name(spec));
  if (!jit::takes_constants(spec)) return json_object({{"name", name}});
  const jit::TileConfig& config = spec.config;
  const auto boolean = [](bool value) { return value ? "true" : "false"; };
  return json_object({{"name", name},
                      {"block_tokens", std::to_string(config.block_tokens)},
                      {"token_step", std::to_string(config.token_step)},
                      {"block_columns", std::to_string(config.block_columns)},
                      {"stages", std::to_string(config.stages)},
                      {"cluster", std::to_string(config.cluster)},
                      {"raster_band", std::to_string(config.raster_band)},
                      {"largest_first", boolean(config.largest_first)},
                      {"prefetch_weights", boolean(config.prefetch_weights)},
                      {"tokens_on_m", boolean(config.tokens_on_m)}});
}

// Problems that differ in what the kernel does not depend on have the same use; it is listed once.
std::string uses_json(const PlannedKernel& kernel) {
  std::vector<std::string> uses;
  for (const PlannedUse& use : kernel.uses) {
    std::string one =
        json_object({{"groups", std::to_string(use.problem.groups)}, {"m_ranges", ranges_json(use.m_ranges)}});
    if (std::find(uses.begin(), uses.end(), one) == uses.end()) uses.push_back(std::move(one));
  }
  return json_array(uses);
}

std::string kernel_json(const PlannedKernel& kernel) {
  const PlannedUse& first = kernel.uses.front();
  return json_object({{"key", json_string(jit::key_of(kernel.spec).hex())},
                      {"family", json_string(kernel.spec.family)},
                      {"n", std::to_string(kernel.spec.n)},
                      {"k", std::to_string(kernel.spec.k)},
                      {"groups", std::to_string(first.problem.groups)},
                      {"m_ranges", ranges_json(first.m_ranges)},
                      {"config", config_json(kernel.spec)},
                      {"uses", uses_json(kernel)}});
}

}  // namespace

std::string plan_json(const ResolvedRequest& request, const Plan& plan) {
  std::vector<std::string> kernels;
  for (const PlannedKernel& kernel : plan.kernels) kernels.push_back(kernel_json(kernel));
  return json_object({{"unique_kernels", std::to_string(plan.kernels.size())},
                      {"arch", json_string(request.plan.architecture)},
                      {"nvrtc", json_string(jit::accepted_compilers().front())},
                      {"m_range", range_json(whole_range(request.plan.problems))},
                      {"derivation", derivation_json(request.derivation)},
                      {"notes", notes_json(request.notes)},
                      {"kernels", json_array(kernels)}});
}

}  // namespace cubinet::warmup
