// How far a warmup is, as a value, and the texts that say so. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "warmup/campaign/observer.hpp"

namespace cubinet::tools {

using warmup::Phase;

// A moment of a phase. `done`, `total`, `worked` and the times are of this phase, the three counts between of all.
struct ProgressCounts {
  Phase phase = Phase::compiling;
  std::int64_t done = 0;
  std::int64_t total = 0;
  std::int64_t compiled = 0;
  std::int64_t hits = 0;
  std::int64_t failed = 0;
  std::int64_t worked = 0;     // of `done`, what took work: all but the hits
  double seconds = 0;          // since the phase began
  double waited_seconds = 0;   // of these, with nothing to do but to wait for another process
  std::string current;         // of what is in work, what began first; or who is waited for; may be empty
  double current_seconds = 0;  // since it began
};

// "waiting for process 12", or for another process where it is not known: 0.
std::string waiting_text(std::int64_t holder);

// Kernels per second, of those that took work: hits come at once, and those of an earlier, interrupted run come first.
// The time spent waiting is left out, too: it tells nothing of those that follow.
// nullopt before there is one.
std::optional<double> rate(const ProgressCounts& counts);

// The time that the rest takes at that rate, if none of it is a hit; 0 when all is done, nullopt while it is not known.
std::optional<double> seconds_left(const ProgressCounts& counts);

// The bar's line, "[#######-------]  12/34 kernels, 3.1/s, 4.0 s elapsed, about 7.3 s left", in fewer than `columns`:
// the bar gives way first.
std::string bar_text(const ProgressCounts& counts, std::size_t columns);

// "compiling: 12/34 kernels, 3.1/s, 4.0 s elapsed, about 7.3 s left". What has been in work for long is named, too.
std::string line_text(const ProgressCounts& counts);

// The same when the phase is over: no time is left, whatever was not done.
std::string last_line_text(const ProgressCounts& counts);

}  // namespace cubinet::tools
