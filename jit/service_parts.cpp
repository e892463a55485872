#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cubinet/cubinet.hpp"
#include "jit/accepted_compilers.hpp"
#include "jit/driver.hpp"
#include "jit/kernel_store.hpp"

namespace cubinet::jit {
namespace {

void open_cabinet(const ServiceOptions& options, EngineParts& parts) {
  const std::vector<std::filesystem::path> layers(options.layers.begin(), options.layers.end());
  const auto tell = [&parts](const std::string& problem) {
    parts.cabinet_problem += (parts.cabinet_problem.empty() ? "" : "; ") + problem;
  };
  // With the policy `error` nothing is compiled, so nothing could be stored.
  if (options.cache_root.empty() && options.miss != MissPolicy::error) {
    tell(
        "no cache folder is named (CUBINET_CACHE_DIR, XDG_CACHE_HOME and HOME give none): what is compiled is not "
        "stored");
  }
  if (options.cache_root.empty() && options.layers.empty()) return;
  const auto limits = cache::limits_from(options.cache_max_size, options.cache_max_entries);
  if (!limits) tell(limits.error().message);
  cache::CabinetOptions opening;
  opening.limits = limits.value_or(cache::default_limits);
  opening.promote = options.promote;
  opening.bundle_key = options.bundle_key;
  opening.preference = preference_for(parts.device->driver().version());
  // A cabinet that cannot be used is not an error, whatever the reason.
  auto stack = without_exceptions(
      ErrorCode::cache_unusable, [&] { return cache::Cabinet::open_stack(options.cache_root, true, layers, opening); });
  if (!stack) return tell(stack.error().message);
  for (const std::string& problem : stack->problems) tell(problem);
  if (!stack->cabinet.notice().empty()) tell(stack->cabinet.notice());
  parts.cabinet = std::move(stack->cabinet);
}

}  // namespace

EngineParts parts_of(const ServiceOptions& options, std::shared_ptr<const DeviceContext> device) {
  EngineParts parts;
  parts.device = std::move(device);
  parts.jobs = options.jobs;
  parts.miss = options.miss;
  parts.cache_root = options.cache_root;
  parts.open_compiler = [folders = options.nvrtc_folders]() -> Expected<std::unique_ptr<Compiler>> {
    return NvrtcCompiler::open(folders);
  };
  open_cabinet(options, parts);
  return parts;
}

}  // namespace cubinet::jit
