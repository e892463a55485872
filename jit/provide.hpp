// Provides one kernel: key -> find -> claim -> compile -> publish.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "cache/cabinet.hpp"
#include "jit/compiler.hpp"
#include "jit/kernel_spec.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

struct Provided {
  cache::Key key;
  cache::Object object;
  bool compiled = false;      // false: found in the cabinet
  std::string store_problem;  // why the compiled kernel could not be stored; empty if it was stored or found
  bool no_room = false;       // storing failed with ErrorCode::no_room; storing other kernels would fail, too
  bool replaced = false;      // replaced an entry whose compiler is not accepted
};

// How long to wait for another process or thread that compiles the same kernel. Far longer than any compilation takes.
inline constexpr std::chrono::milliseconds claim_patience{20'000};

// The result of an attempt that does not wait.
struct Attempt {
  std::optional<Provided> provided;  // nullopt: another process or thread is compiling it
  std::int64_t holder = 0;           // the ID of that process; 0: unknown. See cache::Claim
};

// The kernel of `spec` if the cabinet holds it, whatever compiler made it. Needs no compiler.
std::optional<Provided> find(const KernelSpec& spec, const cache::Cabinet& cabinet);

// Which entries of the cabinet are good enough. `usable`: every entry that the preference of the cabinet ranks.
// `accepted`: the same, except that an entry from a compiler that is not accepted is compiled again and replaced if
// `compiler` is accepted (accepted_compilers.hpp).
enum class Standard { usable, accepted };

// Whether an entry with these facts meets the standard for a caller who compiles with `compiler`.
bool meets(Standard standard, const cache::Facts& facts, const Compiler& compiler);

// Takes the kernel of `spec` from the cabinet, or compiles and publishes it. While another process or thread compiles
// it, this call waits up to `patience` until the kernel appears or the claim on it is released; then it compiles the
// kernel itself. `cabinet` may be null. A cabinet that cannot store the kernel is not an error; see
// Provided::store_problem. A failed compilation stores nothing. Never throws: exceptions become out_of_memory or
// compile_failed. As thread-safe as its arguments.
Expected<Provided> provide(const KernelSpec& spec, Compiler& compiler, cache::Cabinet* cabinet,
                           std::chrono::milliseconds patience = claim_patience, Standard standard = Standard::usable);

// Like provide(), but returns at once if another process or thread compiles the kernel, so that the caller can do other
// work first.
Expected<Attempt> try_to_provide(const KernelSpec& spec, Compiler& compiler, cache::Cabinet* cabinet,
                                 Standard standard = Standard::usable);

}  // namespace cubinet::jit
