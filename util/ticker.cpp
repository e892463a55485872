#include "util/ticker.hpp"

#include <exception>
#include <utility>

namespace cubinet::util {

Ticker::Ticker(std::chrono::milliseconds period, std::function<void()> tick) : period_(period), tick_(std::move(tick)) {
  try {
    thread_ = StackThread(work_stack_bytes, [this] { run(); });
  } catch (const std::exception&) {  // no more threads, or no memory for one
  }
}

Ticker::~Ticker() { over_.request_stop(); }

void Ticker::run() {
  const std::stop_token over = over_.get_token();
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
