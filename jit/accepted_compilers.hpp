// The list of accepted compilers, and the ranking of entries by the compiler that made them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/cabinet.hpp"

namespace cubinet::jit {

// The accepted compilers: NVRTC builds such as "13.0.88" with which this version of Cubinet was tested, best first. On
// an H200 the kernels of all of them gave bit-identical results. No kernel of the example models spills more than 12
// bytes. scripts/check-compilers and bench/results/2026-12-01-cpu/compilers.md say how they were chosen.
const std::vector<std::string>& accepted_compilers();

// The best accepted compiler of each CUDA major version, for messages: "13.0.88 or 12.9.86".
std::string preferred_text();

// The name of a compiler as the facts of an entry store it: "NVRTC 13.0.88" for the Compiler::version() "13.0.88".
// Empty for an empty version.
std::string compiler_name(std::string_view version);

// The version in such a name: "13.0.88" for "NVRTC 13.0.88". Empty if `compiler` does not start with "NVRTC ".
std::string_view compiler_version(std::string_view compiler);

// Whether `compiler` ("NVRTC 13.0.88") is an accepted compiler.
bool is_accepted(std::string_view compiler);

// The number of kernels of each compiler. The keys are names as in the facts of an entry.
using CompilerCounts = std::map<std::string, std::int64_t>;

// The compilers for messages. One compiler: "NVRTC 13.0.88". Several, with the number of kernels: "NVRTC 13.0.88 (8),
// NVRTC 13.5.37 (2)". An empty name is written as "an unknown compiler". Empty if `compilers` is empty.
std::string compilers_text(const CompilerCounts& compilers);

// The number of kernels that were not made by an accepted compiler.
std::int64_t unaccepted_of(const CompilerCounts& compilers);

// Whether a driver loads the kernels of all these compilers. `driver` as for rank().
bool loads_all(int driver, const CompilerCounts& compilers);

// A warning about kernels of compilers that are not accepted: "2 kernels were made by NVRTC 13.5.37, which ...; a
// warmup with ... makes them again". Empty if there are none.
std::string unaccepted_text(const CompilerCounts& compilers);

// A message about stored kernels that the driver cannot load, and what to do about it. Empty if `compilers` is empty.
std::string unusable_text(const CompilerCounts& compilers, int driver);

// The rank of an entry for a driver; a lower rank is better (see cache::Preference). An accepted compiler has its index
// in accepted_compilers(). All other compilers have the same rank, after the accepted ones; an engine uses such an
// entry rather than compile while it serves. nullopt for a kernel that the driver does not load (driver_limit.hpp).
// `driver` is the number that cuDriverGetVersion returns; 0 means no limit, for kernels that will run on other
// machines. Pure.
std::optional<int> rank(std::string_view compiler, int driver);

// rank() as the preference of a cabinet.
cache::Preference preference_for(int driver);

// Whether a warmup with `compiler` replaces a kernel that `present` made: true if `compiler` is accepted and `present`
// is not. Pure.
bool replaces(std::string_view compiler, std::string_view present);

}  // namespace cubinet::jit
