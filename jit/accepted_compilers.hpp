// Which compilers make kernels that this build trusts, and how entries of one kernel are ranked by what made them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/cabinet.hpp"

namespace cubinet::jit {

// The NVRTC builds whose kernels this build of Cubinet was tested with, the best first: "13.0.88". Each was run on an
// H200, computes what the others do bit for bit, and spills at most 12 bytes in any kernel of the example models.
// scripts/check-compilers and bench/results/2026-12-01-cpu/compilers.md say how they were chosen.
const std::vector<std::string>& accepted_compilers();

// The best of each CUDA major version, for people: "13.0.88 or 12.9.86".
std::string preferred_text();

// What an entry's facts say of the compiler that made it: "NVRTC 13.0.88" for a Compiler::version(). Empty for none.
std::string compiler_name(std::string_view version);

// "13.0.88" of "NVRTC 13.0.88"; empty for another text.
std::string_view compiler_version(std::string_view compiler);

// Whether `compiler` ("NVRTC 13.0.88") is among the accepted ones.
bool is_accepted(std::string_view compiler);

// How many kernels each compiler made, by the text in their facts.
using Makers = std::map<std::string, std::int64_t>;

// "NVRTC 13.0.88", or "NVRTC 13.0.88 (8), NVRTC 13.5.37 (2)" where there are several; a compiler that is not known is
// "an unknown compiler". Empty for none.
std::string makers_text(const Makers& makers);

// How many of them no accepted compiler made.
std::int64_t unaccepted_of(const Makers& makers);

// Whether a driver loads what all of them made. `driver` as for rank().
bool loads_all(int driver, const Makers& makers);

// "2 kernels were made by NVRTC 13.5.37, with which ...; a warmup with ... makes them again"; empty where accepted ones
// made all.
std::string unaccepted_text(const Makers& makers);

// That a driver does not load kernels which are there, and what mends it. Empty for none.
std::string unusable_text(const Makers& makers, int driver);

// The rank of an entry for a driver, see cache::Preference: the place of its compiler among the accepted ones, and
// after them all others alike, which an engine takes rather than compile while it serves. Nothing for what the driver
// does not load (driver_limit.hpp). `driver` as cuDriverGetVersion answers, 0: no limit, where kernels are made for
// elsewhere. Pure.
std::optional<int> rank(std::string_view compiler, int driver);

// rank() for a cabinet.
cache::Preference preference_for(int driver);

// Whether a warmup that has `compiler` makes a kernel again that `present` made: an accepted compiler replaces one that
// is not. Pure.
bool replaces(std::string_view compiler, std::string_view present);

}  // namespace cubinet::jit
