// SIGINT, SIGTERM and SIGHUP of a command that loads NVRTC. They are blocked, and one thread here waits for them, which
// holds with an NVRTC, too, that puts handlers of its own in the place of others' (jit/nvrtc_signals.hpp). Such a one
// ignores SIGINT for a moment first, which drops one that is pending: so the thread runs before the watch is there.
#pragma once

#include <signal.h>

#include <atomic>
#include <thread>

namespace cubinet::tools {

enum class FirstSignal { asks, ends };

// From construction on the calling thread, and every thread that it starts, has these signals blocked: construct it
// before any other thread starts and before NVRTC is opened. With `asks` the first signal sets stop_requested() and the
// second ends the process at once, as that signal does by default; with `ends` the first one does. A signal that the
// process was started to ignore stays ignored. Destruction puts the mask back. One at a time.
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
  int wake_ = 0;  // one of `watched_`; 0: none is watched, and there is no thread
  std::atomic<bool> stop_requested_{false};
  std::atomic<bool> over_{false};
  std::atomic<bool> waits_{false};  // the thread runs
  std::thread waiter_;
};

// For SIGPIPE and SIGXFSZ: from here on a write to a pipe that nobody reads, or beyond the limit on the size of files,
// fails as any other write that cannot be done, and ends no process.
void ignore_signal(int signal);

}  // namespace cubinet::tools
