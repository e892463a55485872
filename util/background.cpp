#include "util/background.hpp"

#include <system_error>
#include <utility>

namespace cubinet::util {

BackgroundThread::~BackgroundThread() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    tasks_.clear();
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool BackgroundThread::post(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (!started_) {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      return false;
    }
    started_ = true;
  }
  tasks_.push_back(std::move(task));
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
    task();
  }
}

}  // namespace cubinet::util
