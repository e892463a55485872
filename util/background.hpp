// Work that nobody waits for.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>

#include "util/stack_thread.hpp"

namespace cubinet::util {

// One thread that runs tasks in their order. It starts with the first one. Thread-safe. Destruction drops the tasks
// that have not begun and waits for the one in work; not to be destroyed by a task.
class BackgroundThread {
 public:
  BackgroundThread() = default;
  ~BackgroundThread();
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  // What `task` throws is dropped. False when there is no thread, or no memory for the task, or this is being
  // destroyed: then the task is dropped.
  bool post(std::function<void()> task) noexcept;

 private:
  void run();

  std::mutex mutex_;  // guards the rest but for the thread itself
  std::condition_variable changed_;
  std::list<std::function<void()>> tasks_;
  bool over_ = false;
  bool started_ = false;
  StackThread thread_;
};

}  // namespace cubinet::util
