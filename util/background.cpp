#include "util/background.hpp"

#include <exception>
#include <utility>

namespace cubinet::util {

BackgroundThread::~BackgroundThread() {
  std::list<std::function<void()>> dropped;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    dropped.swap(tasks_);
  }
  dropped.clear();  // without the lock: what a task holds may post in its turn when it goes
  changed_.notify_one();
  thread_ = StackThread();  // waits for it
}

bool BackgroundThread::post(std::function<void()> task) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (over_) return false;
    if (!started_) thread_ = StackThread(work_stack_bytes, [this] { run(); });
    started_ = true;
    tasks_.push_back(std::move(task));
  } catch (const std::exception&) {
    return false;
  }
  changed_.notify_one();
  return true;
}

void BackgroundThread::run() {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return over_ || !tasks_.empty(); });
      if (over_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    try {
      task();
    } catch (...) {  // the task's own trouble
    }
  }
}

}  // namespace cubinet::util
