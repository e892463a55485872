// The middle of the chain: key -> find -> compile -> publish.
#pragma once

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
  bool compiled = false;        // false: the cabinet held it
  std::string store_problem;    // why the fresh kernel could not be stored; empty when it was, or was found
};

// The kernel of `spec` as NVRTC `nvrtc_version` makes it, if the cabinet holds it. Needs no compiler.
std::optional<Provided> find(const KernelSpec& spec, const std::string& nvrtc_version, const cache::Cabinet& cabinet);

// The kernel of `spec`: from the cabinet, else compiled and published. `cabinet` may be null. A cabinet that
// cannot store is no error; a compilation that fails stores nothing. Never throws: what the compiler throws, and out of
// memory above all, is compile_failed. Thread-safe as far as its arguments are.
Expected<Provided> provide(const KernelSpec& spec, Compiler& compiler, cache::Cabinet* cabinet);

}  // namespace cubinet::jit
