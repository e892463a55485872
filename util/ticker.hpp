// A function that is called again and again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>

#include "util/stack_thread.hpp"

namespace cubinet::util {

// Calls `tick` from a thread of its own, a period after the start and then each time a period after it has returned.
// What it throws is dropped. Destruction waits for a call that is under way and makes no further one. Where the system
// gives no thread there are no calls. The thread blocks the signals that the one which makes it blocks, and has a stack
// of work_stack_bytes.
class Ticker {
 public:
  Ticker(std::chrono::milliseconds period, std::function<void()> tick);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  void run();

  std::chrono::milliseconds period_;
  std::function<void()> tick_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::stop_source over_;
  StackThread thread_;  // last: it ends before what it uses
};

}  // namespace cubinet::util
