#include "jit/provide.hpp"

#include <exception>
#include <utility>

#include "util/clock.hpp"

namespace cubinet::jit {
namespace {

// What a launch of the program's kernels asks for, beyond what the compiler knows.
std::int32_t launch_smem_bytes(const KernelSpec& spec, const Resources& resources) {
  return resources.static_smem_bytes + (takes_constants(spec) ? dynamic_smem_bytes(spec.config) : 0);
}

cache::Facts facts_of(const KernelSpec& spec, CompiledKernel& kernel) {
  cache::Facts facts;
  facts.family = spec.family;
  facts.arch = spec.architecture;
  facts.n = spec.n;
  facts.k = spec.k;
  facts.config = config_name(spec);
  facts.registers = kernel.resources.registers;
  facts.spill_bytes = kernel.resources.spill_bytes;
  facts.smem_bytes = launch_smem_bytes(spec, kernel.resources);
  facts.compile_ms = kernel.resources.compile_ms;
  facts.created = util::system_clock().seconds();
  facts.kernel_names = std::move(kernel.kernel_names);
  // The entry point of a specialized family has the family's name, whatever the compiler's log looks like.
  if (facts.kernel_names.empty() && takes_constants(spec)) facts.kernel_names.push_back(spec.family);
  return facts;
}

std::optional<Provided> find_recorded(const cache::Key& key, const std::string& record, const cache::Cabinet& cabinet) {
  auto object = cabinet.find(key, record);
  if (!object) return std::nullopt;
  return Provided{key, std::move(*object), false, {}};
}

Expected<Provided> provide_or_throw(const KernelSpec& spec, Compiler& compiler, cache::Cabinet* cabinet) {
  std::string record = record_of(spec, compiler.version());
  const cache::Key key = key_of(record);
  if (cabinet != nullptr) {
    if (auto found = find_recorded(key, record, *cabinet)) return std::move(*found);
  }
  auto kernel = compiler.compile(spec);
  if (!kernel) return tl::make_unexpected(std::move(kernel.error()));
  cache::Facts facts = facts_of(spec, *kernel);
  Provided provided{key, {std::move(kernel->cubin), std::move(record), std::move(facts)}, true, {}};
  if (cabinet != nullptr) {
    auto stored = cabinet->publish(key, provided.object);
    if (!stored) provided.store_problem = std::move(stored.error().message);
  }
  return provided;
}

}  // namespace

std::optional<Provided> find(const KernelSpec& spec, const std::string& nvrtc_version, const cache::Cabinet& cabinet) {
  const std::string record = record_of(spec, nvrtc_version);
  return find_recorded(key_of(record), record, cabinet);
}

Expected<Provided> provide(const KernelSpec& spec, Compiler& compiler, cache::Cabinet* cabinet) {
  try {
    return provide_or_throw(spec, compiler, cabinet);
  } catch (const std::exception& exception) {
    return fail(ErrorCode::compile_failed, spec.family + ": " + exception.what());
  }
}

}  // namespace cubinet::jit
