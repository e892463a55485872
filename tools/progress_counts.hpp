// The progress of a warmup as a value, and its texts. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "warmup/campaign/observer.hpp"

namespace cubinet::tools {

using warmup::Phase;

// The progress at one moment. `done`, `total`, `worked` and the times are of the current phase; compiled, hits and
// failed are of all phases.
struct ProgressCounts {
  Phase phase = Phase::compiling;
  std::int64_t done = 0;
  std::int64_t total = 0;
  std::int64_t compiled = 0;
  std::int64_t hits = 0;
  std::int64_t failed = 0;
  std::int64_t worked = 0;     // kernels of `done` that took work: all but hits and skipped ones
  double seconds = 0;          // since the phase began
  double waited_seconds = 0;   // part of `seconds` in which this process only waited for another one
  std::string current;         // the oldest work in progress, or the process that is waited for; may be empty
  double current_seconds = 0;  // since that began
};

// "waiting for process 12"; "waiting for another process" for 0, an unknown one.
std::string waiting_text(std::int64_t holder);

// Kernels per second. Counts only kernels that took work: hits take no time, and after an interrupted run they come
// first. Waiting time is not counted, since it says nothing about the kernels that follow. nullopt before the first
// kernel.
std::optional<double> rate(const ProgressCounts& counts);

// The time for the rest at that rate, if none of it is a hit; 0 if all is done, nullopt if unknown.
std::optional<double> seconds_left(const ProgressCounts& counts);

// The bar's line, "[#######-------]  12/34 kernels, 3.1/s, 4.0 s elapsed, about 7.3 s left", shorter than `columns`
// characters: the bar is shortened or dropped first.
std::string bar_text(const ProgressCounts& counts, std::size_t columns);

// "compiling: 12/34 kernels, 3.1/s, 4.0 s elapsed, about 7.3 s left", followed by work that takes long already.
std::string line_text(const ProgressCounts& counts);

// The same at the end of the phase, without the time left.
std::string last_line_text(const ProgressCounts& counts);

}  // namespace cubinet::tools
