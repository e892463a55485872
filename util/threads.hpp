// Threads with a known stack size, and three ways to use them: a queue, a timer and a parallel loop. They do not fail
// if no thread can be started; the declarations say what happens instead.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <stop_token>

namespace cubinet::util {

// The stack size for the library's own work: SQLite, JSON and OpenSSL need less.
inline constexpr std::size_t work_stack_bytes = std::size_t{2} << 20;

// A thread whose stack has at least `bytes`, independent of `ulimit -s`. The destructor joins it.
class StackThread {
 public:
  StackThread() = default;
  // `work` must not throw. Throws std::system_error, like std::thread, if the thread could not be started.
  StackThread(std::size_t bytes, std::function<void()> work);
  StackThread(StackThread&& other) noexcept;
  StackThread& operator=(StackThread&& other) noexcept;
  ~StackThread();

 private:
  pthread_t thread_{};
  bool started_ = false;
};

// Runs `work` with a stack of at least `bytes`: on the calling thread if its stack is large enough, else on a new
// thread, which is joined. If that thread could not be started, `work` runs on the calling thread. `work` must not
// throw.
void run_with_stack(std::size_t bytes, const std::function<void()>& work);

// Calls body(0) .. body(count - 1), each once, on up to `jobs` threads, and returns when all calls have returned. The
// calling thread is one of them unless its stack is smaller than work_stack_bytes. If fewer threads could be started,
// they share the calls. `body` is called from several threads at once and must not throw.
void parallel_for(std::size_t count, int jobs, const std::function<void(std::size_t)>& body);

// Runs tasks one after the other on one thread, which starts with the first task. Thread-safe. The destructor drops the
// tasks that have not begun and waits for the running one; a task must not destroy the BackgroundThread.
class BackgroundThread {
 public:
  BackgroundThread() = default;
  ~BackgroundThread();
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  // Queues a task. Exceptions of the task are dropped. Returns false, and drops the task, if the thread could not be
  // started, if memory ran out, or during destruction.
  bool post(std::function<void()> task) noexcept;

 private:
  void run();

  std::mutex mutex_;  // guards all members but thread_
  std::condition_variable changed_;
  std::list<std::function<void()>> tasks_;
  bool over_ = false;
  bool started_ = false;
  StackThread thread_;
};

// Calls `tick` on its own thread, first one period after construction, then one period after each return. Exceptions of
// `tick` are dropped. The destructor waits for a running call; no call follows. If the thread could not be started,
// there are no calls. The thread inherits the signal mask of the constructing thread.
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
  StackThread thread_;  // last member: joined before the others are destroyed
};

}  // namespace cubinet::util
