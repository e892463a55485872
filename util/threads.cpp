#include "util/threads.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

namespace cubinet::util {
namespace {

using Work = std::function<void()>;

void* run_work(void* argument) {
  const std::unique_ptr<Work> work(static_cast<Work*>(argument));
  (*work)();
  return nullptr;
}

std::size_t stack_of(const pthread_attr_t& attributes) {
  std::size_t bytes = 0;
  return pthread_attr_getstacksize(&attributes, &bytes) == 0 ? bytes : 0;
}

std::size_t own_stack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  const std::size_t bytes = stack_of(attributes);
  pthread_attr_destroy(&attributes);
  return bytes;
}

}  // namespace

StackThread::StackThread(std::size_t bytes, Work work) {
  auto argument = std::make_unique<Work>(std::move(work));
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error == 0) {
    error = pthread_attr_setstacksize(&attributes, std::max(bytes, stack_of(attributes)));
    if (error == 0) error = pthread_create(&thread_, &attributes, run_work, argument.get());
    pthread_attr_destroy(&attributes);
  }
  if (error != 0) throw std::system_error(error, std::generic_category(), "could not start a thread");
  static_cast<void>(argument.release());  // the thread owns it now
  started_ = true;
}

StackThread::StackThread(StackThread&& other) noexcept
    : thread_(other.thread_), started_(std::exchange(other.started_, false)) {}

StackThread& StackThread::operator=(StackThread&& other) noexcept {
  StackThread joined(std::move(*this));
  thread_ = other.thread_;
  started_ = std::exchange(other.started_, false);
  return *this;
}

StackThread::~StackThread() {
  if (started_) pthread_join(thread_, nullptr);
}

void run_with_stack(std::size_t bytes, const Work& work) {
  if (own_stack() >= bytes) return work();
  StackThread thread;
  try {
    thread = StackThread(bytes, work);
    return;
  } catch (const std::exception&) {  // no thread, or no memory for one
  }
  work();
}

void parallel_for(std::size_t count, int jobs, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t index = next.fetch_add(1); index < count; index = next.fetch_add(1)) body(index);
  };
  const std::size_t wanted = std::min(static_cast<std::size_t>(std::max(jobs, 1)), count);
  std::vector<StackThread> helpers;
  try {
    while (helpers.size() + 1 < wanted) helpers.emplace_back(work_stack_bytes, work);
  } catch (const std::exception&) {  // no further threads: the started ones share the calls
  }
  run_with_stack(work_stack_bytes, work);
}

BackgroundThread::~BackgroundThread() {
  std::list<std::function<void()>> dropped;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    dropped.swap(tasks_);
  }
  dropped.clear();  // without the lock: the destructor of what a task holds may call post()
  changed_.notify_one();
  thread_ = StackThread();  // joins
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
    } catch (...) {  // dropped, as promised
    }
  }
}

Ticker::Ticker(std::chrono::milliseconds period, std::function<void()> tick) : period_(period), tick_(std::move(tick)) {
  try {
    thread_ = StackThread(work_stack_bytes, [this] { run(); });
  } catch (const std::exception&) {  // no calls, as promised
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
    } catch (...) {  // dropped, as promised
    }
  }
}

}  // namespace cubinet::util
