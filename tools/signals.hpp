// Handles SIGINT, SIGTERM and SIGHUP in a command that loads NVRTC. The signals are blocked, and a thread waits for
// them. Handlers would not work, because NVRTC may install its own (jit/saved_signals.hpp). NVRTC may also ignore
// SIGINT for a moment, which drops a pending one; so the constructor returns only once the thread runs.
#pragma once

#include <signal.h>

#include <atomic>
#include <thread>

namespace cubinet::tools {

// What the first signal does: it sets stop_requested(), or ends the process.
enum class FirstSignal { asks, ends };

// The constructor blocks these signals in the calling thread, and so in the threads that it starts later: construct it
// before any other thread starts and before NVRTC is opened. With `asks` the first signal sets stop_requested() and the
// second one ends the process as that signal does by default; with `ends` the first one does. A signal that the process
// was started to ignore stays ignored. The destructor restores the signal mask. At most one object at a time.
class SignalWatch {
 public:
  explicit SignalWatch(FirstSignal first);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  [[nodiscard]] const std::atomic<bool>& stop_requested() const { return stop_requested_; }

 private:
  void wait();

  FirstSignal first_;
  sigset_t watched_{};
  sigset_t mask_before_{};
  int wake_ = 0;  // a signal of `watched_`, sent to end the thread; 0: none is watched, and there is no thread
  std::atomic<bool> stop_requested_{false};
  std::atomic<bool> over_{false};
  std::atomic<bool> waits_{false};  // whether the thread runs
  std::thread waiter_;
};

// Ignores a signal. With SIGPIPE and SIGXFSZ ignored, a write to a pipe without a reader, or beyond the limit on file
// sizes, fails with an error instead of ending the process.
void ignore_signal(int signal);

}  // namespace cubinet::tools
