// A function that is called again and again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace cubinet::util {

// Calls `tick` from a thread of its own, a period after the start and then each time a period after it has returned.
// What it throws is dropped. Destruction waits for a call that is under way and makes no further one. Where the system
// gives no thread there are no calls. The thread blocks the signals that the one which makes it blocks.
class Ticker {
 public:
  Ticker(std::chrono::milliseconds period, std::function<void()> tick);
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  void run(const std::stop_token& over);

  std::chrono::milliseconds period_;
  std::function<void()> tick_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace cubinet::util
