#include "util/ticker.hpp"

#include <system_error>
#include <utility>

namespace cubinet::util {

Ticker::Ticker(std::chrono::milliseconds period, std::function<void()> tick) : period_(period), tick_(std::move(tick)) {
  try {
    thread_ = std::jthread([this](const std::stop_token& over) { run(over); });
  } catch (const std::system_error&) {  // no more threads
  }
}

void Ticker::run(const std::stop_token& over) {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, over, period_, [] { return false; });
    }
    if (over.stop_requested()) return;
    try {
      tick_();
    } catch (...) {  // the caller's own trouble
    }
  }
}

}  // namespace cubinet::util
