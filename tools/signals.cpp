#include "tools/signals.hpp"

#include <pthread.h>
#include <unistd.h>

namespace cubinet::tools {
namespace {

bool ignored(int signal) {
  struct sigaction present {};
  return sigaction(signal, nullptr, &present) == 0 && (present.sa_flags & SA_SIGINFO) == 0 &&
         present.sa_handler == SIG_IGN;
}

// Ends the process as `signal` does by default, so that its parent sees the signal.
[[noreturn]] void end_by(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
  _exit(128 + signal);  // only reached if a library has installed its handler again in between
}

}  // namespace

SignalWatch::SignalWatch(FirstSignal first) : first_(first) {
  sigemptyset(&watched_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // The process may have been started to ignore a signal, by nohup or by a shell for a background command.
    if (ignored(signal)) continue;
    sigaddset(&watched_, signal);
    wake_ = signal;
  }
  pthread_sigmask(SIG_BLOCK, &watched_, &mask_before_);
  if (wake_ == 0) return;
  waiter_ = std::thread([this] { wait(); });
  waits_.wait(false);
}

SignalWatch::~SignalWatch() {
  over_.store(true);
  if (waiter_.joinable()) {
    pthread_kill(waiter_.native_handle(), wake_);
    waiter_.join();
  }
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void SignalWatch::wait() {
  waits_.store(true);
  waits_.notify_one();
  for (;;) {
    int signal = 0;
    if (sigwait(&watched_, &signal) != 0) continue;
    if (over_.load()) return;
    if (first_ == FirstSignal::ends || stop_requested_.exchange(true)) end_by(signal);
  }
}

void ignore_signal(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  sigaction(signal, &action, nullptr);
}

}  // namespace cubinet::tools
