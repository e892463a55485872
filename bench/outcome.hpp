// What the benchmarks say of an error, and the exit code for it.
#pragma once

#include <exception>

#include <fmt/format.h>

#include "util/expected.hpp"

namespace cubinet::bench {

// 4: no GPU here; 2: wrong usage; 1: any other error.
inline int report_error(const Error& error) {
  fmt::print(stderr, "error: {}\n{}", error.message, error.detail.empty() ? "" : error.detail + "\n");
  return error.code == ErrorCode::driver_missing ? 4 : error.code == ErrorCode::invalid_argument ? 2 : 1;
}

// The exit code of `run`, whatever it throws: a defect, or no memory.
template <class Run>
int exit_code_of(const Run& run) {
  try {
    return run();
  } catch (const std::exception& exception) {
    return report_error({ErrorCode::io, exception.what(), {}});
  }
}

}  // namespace cubinet::bench
