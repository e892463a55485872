#include "jit/provide.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "jit/accepted_compilers.hpp"
#include "jit/families/family.hpp"
#include "jit/kernel_facts.hpp"
#include "util/clock.hpp"

namespace cubinet::jit {
namespace {

cache::Facts facts_of(const KernelSpec& spec, CompiledKernel& kernel, const Compiler& compiler) {
  KernelFacts facts{.family = spec.family_name(),
                    .n = spec.n,
                    .k = spec.k,
                    .config = spec.config,
                    .registers = kernel.resources.registers,
                    .spill_bytes = kernel.resources.spill_bytes,
                    .smem_bytes = kernel.resources.static_smem_bytes + spec.family->dynamic_smem_bytes(spec),
                    .kernel_names = std::move(kernel.kernel_names)};
  // If the log of the compiler lists no entry points, take those that the family declares.
  if (facts.kernel_names.empty()) facts.kernel_names = spec.family->entry_points();
  return {.arch = spec.architecture,
          .compiler = compiler_name(compiler.version()),
          .compile_ms = kernel.resources.compile_ms,
          .created = util::system_clock().seconds(),
          .details = to_details(facts)};
}

// A requested kernel with its record and key.
struct Wanted {
  explicit Wanted(const KernelSpec& kernel, Standard least = Standard::usable)
      : spec(kernel), standard(least), record(record_of(kernel)), key(key_of(record)) {}
  const KernelSpec& spec;
  Standard standard;
  std::string record;
  cache::Key key;
};

std::optional<Provided> find(const Wanted& wanted, const cache::Cabinet& cabinet) {
  auto object = cabinet.find(wanted.key, wanted.record);
  if (!object) return std::nullopt;
  return Provided{wanted.key, std::move(*object), false, {}};
}

Expected<Provided> make(const Wanted& wanted, Compiler& compiler, cache::Cabinet* cabinet) {
  auto kernel = compiler.compile(wanted.spec);
  if (!kernel) {
    if (cabinet != nullptr) cabinet->record_misses({wanted.key});
    return propagate(kernel);
  }
  cache::Facts facts = facts_of(wanted.spec, *kernel, compiler);
  Provided provided{wanted.key, {std::move(kernel->cubin), wanted.record, std::move(facts)}, true, {}};
  if (cabinet != nullptr) {
    auto stored = cabinet->publish(wanted.key, provided.object, cache::Origin::compiled);
    if (!stored) {
      provided.no_room = stored.error().code == ErrorCode::no_room;
      provided.store_problem = std::move(stored.error().message);
    }
  }
  return provided;
}

Expected<Attempt> attempt(const Wanted& wanted, Compiler& compiler, cache::Cabinet* cabinet) {
  cache::Claim claim;
  bool replaces = false;  // an entry exists that does not meet the standard
  const auto look = [&]() -> std::optional<Provided> {
    auto found = find(wanted, *cabinet);
    if (!found || meets(wanted.standard, found->object.facts, compiler)) return found;
    replaces = true;
    return std::nullopt;
  };
  if (cabinet != nullptr) {
    if (auto found = look()) return Attempt{std::move(found)};
    claim = cabinet->claim(wanted.key);
    if (claim.taken()) return Attempt{std::nullopt, claim.holder()};
    // Look again: another process may have published the kernel and released its claim after the first look.
    if (claim.mine()) {
      if (auto found = look()) return Attempt{std::move(found)};
    }
  }
  auto made = make(wanted, compiler, cabinet);
  if (!made) return propagate(made);
  made->replaced = replaces && made->store_problem.empty();
  return Attempt{std::move(*made)};
}

Expected<Provided> provide_or_throw(const Wanted& wanted, Compiler& compiler, cache::Cabinet* cabinet,
                                    std::chrono::milliseconds patience) {
  const util::Moment deadline = util::now() + patience;
  constexpr std::chrono::milliseconds longest_pause(20);
  for (auto pause = std::chrono::milliseconds(1);; pause = std::min(pause * 2, longest_pause)) {
    auto tried = attempt(wanted, compiler, cabinet);
    if (!tried) return propagate(tried);
    if (tried->provided) return std::move(*tried->provided);
    if (util::now() >= deadline) return make(wanted, compiler, cabinet);
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

bool meets(Standard standard, const cache::Facts& facts, const Compiler& compiler) {
  return standard == Standard::usable || !replaces(compiler_name(compiler.version()), facts.compiler);
}

std::optional<Provided> find(const KernelSpec& spec, const cache::Cabinet& cabinet) {
  return find(Wanted(spec), cabinet);
}

Expected<Provided> provide(const KernelSpec& spec, Compiler& compiler, cache::Cabinet* cabinet,
                           std::chrono::milliseconds patience, Standard standard) {
  const auto work = [&] { return provide_or_throw(Wanted(spec, standard), compiler, cabinet, patience); };
  return without_exceptions(ErrorCode::compile_failed, work, spec.family_name());
}

Expected<Attempt> try_to_provide(const KernelSpec& spec, Compiler& compiler, cache::Cabinet* cabinet,
                                 Standard standard) {
  const auto work = [&] { return attempt(Wanted(spec, standard), compiler, cabinet); };
  return without_exceptions(ErrorCode::compile_failed, work, spec.family_name());
}

}  // namespace cubinet::jit
