// A file of recorded problems, as `cubinet cache problems --json` prints it.
#pragma once

#include <cstdint>
#include <string>

#include "util/expected.hpp"
#include "warmup/planning/recorded_problems.hpp"

namespace cubinet::warmup {

inline constexpr std::int64_t recorded_file_version = 1;
inline constexpr std::uint64_t max_recorded_file_bytes = std::uint64_t{4} << 20;

// Problems in the order of the file; members that this build does not know are passed over. invalid_argument for a file
// that is larger, holds more than cache::max_recorded_problems, is of another version, or has an element that is
// wrong, which is named; not_found; io.
Expected<RecordedProblems> read_recorded_file(const std::string& file);

// Whether kernels take the problem, and a plan its range of M.
Expected<void> check_recorded(const RecordedProblem& problem);

}  // namespace cubinet::warmup
