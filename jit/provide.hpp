// The middle of the chain: key -> find -> claim -> compile -> publish.
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
  bool compiled = false;      // false: the cabinet held it
  std::string store_problem;  // why the fresh kernel could not be stored; empty when it was, or was found
  bool no_room = false;       // that is ErrorCode::no_room: no other could be stored now
  bool replaced = false;      // stored in the place of one that no accepted compiler made
};

// How long to wait for another process, or thread, that is making the same kernel: far above what any takes to compile.
inline constexpr std::chrono::milliseconds claim_patience{20'000};

// What came of an attempt that does not wait.
struct Attempt {
  std::optional<Provided> provided;  // nothing: another process, or thread, is making it
  std::int64_t holder = 0;           // that process, 0: not known; see cache::Claim
};

// The kernel of `spec`, if the cabinet holds it, of whatever compiler. Needs none.
std::optional<Provided> find(const KernelSpec& spec, const cache::Cabinet& cabinet);

// Which entries are taken as they are. `usable`: every one that the cabinet's preference ranks. `accepted`: not those
// of a compiler that is not accepted, where `compiler` is; they are made again, and replaced (accepted_compilers.hpp).
enum class Standard { usable, accepted };

// Whether an entry of these facts is taken as it is by someone who has `compiler`.
bool meets(Standard standard, const cache::Facts& facts, const Compiler& compiler);

// The kernel of `spec`: from the cabinet, else compiled and published. While somebody else is making it this waits, up
// to `patience`, for it to appear or for its maker to end; then it makes the kernel on its own. `cabinet` may be null.
// A cabinet that cannot store is no error; a compilation that fails stores nothing. Never throws: what the compiler
// throws is out_of_memory or compile_failed. Thread-safe as far as its arguments are.
Expected<Provided> provide(const KernelSpec& spec, Compiler& compiler, cache::Cabinet* cabinet,
                           std::chrono::milliseconds patience = claim_patience, Standard standard = Standard::usable);

// As provide(), but comes back at once when somebody else is making the kernel, for the caller to do other work first.
Expected<Attempt> try_to_provide(const KernelSpec& spec, Compiler& compiler, cache::Cabinet* cabinet,
                                 Standard standard = Standard::usable);

}  // namespace cubinet::jit
