// Time: the time of day behind an interface, so that tests can set it, and elapsed time.
#pragma once

#include <chrono>
#include <cstdint>

namespace cubinet::util {

class Clock {
 public:
  virtual ~Clock() = default;
  // Seconds since 1970, UTC. May jump in both directions.
  [[nodiscard]] virtual std::int64_t seconds() const = 0;
};

constexpr std::int64_t seconds_per_day = 86'400;

// The clock of this machine. Lives as long as the process; thread-safe.
const Clock& system_clock();

// Monotonic time, for measuring how long something takes.
using Moment = std::chrono::steady_clock::time_point;
inline Moment now() { return std::chrono::steady_clock::now(); }
inline double milliseconds_since(Moment start) {
  return std::chrono::duration<double, std::milli>(now() - start).count();
}
inline double seconds_since(Moment start) { return milliseconds_since(start) / 1000; }

}  // namespace cubinet::util
