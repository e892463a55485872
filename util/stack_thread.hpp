// Threads with a stack of a known size, whatever `ulimit -s` leaves those that the process starts or was started with.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <functional>

namespace cubinet::util {

// What the library's own work takes at the most: SQLite, JSON and OpenSSL, with room to spare.
inline constexpr std::size_t work_stack_bytes = std::size_t{2} << 20;

// A thread with a stack of at least `bytes`. It is waited for on destruction.
class StackThread {
 public:
  StackThread() = default;
  // `work` must not throw. Throws std::system_error, as std::thread does, where the system gives no such thread.
  StackThread(std::size_t bytes, std::function<void()> work);
  StackThread(StackThread&& other) noexcept;
  StackThread& operator=(StackThread&& other) noexcept;
  ~StackThread();

 private:
  pthread_t thread_{};
  bool started_ = false;
};

// Runs `work` with a stack of at least `bytes`: here where this thread has one, else on another thread, which is waited
// for; and here all the same where the system gives no such thread. `work` must not throw.
void run_with_stack(std::size_t bytes, const std::function<void()>& work);

}  // namespace cubinet::util
