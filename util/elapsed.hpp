// How long something took.
#pragma once

#include <chrono>

namespace cubinet::util {

using Moment = std::chrono::steady_clock::time_point;

inline Moment now() { return std::chrono::steady_clock::now(); }

inline double milliseconds_since(Moment start) {
  return std::chrono::duration<double, std::milli>(now() - start).count();
}

inline double seconds_since(Moment start) { return milliseconds_since(start) / 1000; }

}  // namespace cubinet::util
