// Error messages and exit codes of the benchmarks.
#pragma once

#include <exception>

#include <fmt/format.h>

#include "util/expected.hpp"

namespace cubinet::bench {

// Prints the error. Returns the exit code: 4 no GPU, 2 wrong usage, 1 any other error.
inline int report_error(const Error& error) {
  fmt::print(stderr, "error: {}\n{}", error.message, error.detail.empty() ? "" : error.detail + "\n");
  return error.code == ErrorCode::driver_missing ? 4 : error.code == ErrorCode::invalid_argument ? 2 : 1;
}

// Returns the exit code of `run`. An exception, from a defect or lack of memory, is reported as an error.
template <class Run>
int exit_code_of(const Run& run) {
  try {
    return run();
  } catch (const std::exception& exception) {
    return report_error({ErrorCode::io, exception.what(), {}});
  }
}

}  // namespace cubinet::bench
