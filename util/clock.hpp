// The time of day, behind a seam so that tests can set it.
#pragma once

#include <cstdint>

namespace cubinet::util {

class Clock {
 public:
  virtual ~Clock() = default;
  // Seconds since 1970, UTC. May jump in both directions.
  [[nodiscard]] virtual std::int64_t seconds() const = 0;
};

// The clock of this machine. Lives as long as the process; thread-safe.
const Clock& system_clock();

}  // namespace cubinet::util
