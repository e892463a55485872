// The process's signal handlers while NVRTC compiles in it for the first time.
#pragma once

#include <signal.h>

#include <array>

namespace cubinet::jit {

// Puts back, at the end of its scope, the handlers that NVRTC's front end changes: at a process's first compilation it
// takes SIGINT, SIGTERM and SIGXFSZ for some 15 ms, and then restores them without SA_SIGINFO and with another mask.
// Within those milliseconds a signal is lost, or ends the process with exit code 4. Only a process that has no compile
// worker compiles itself (worker_pool.hpp).
class SavedSignals {
 public:
  SavedSignals() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], nullptr, &before_[i]);
  }
  ~SavedSignals() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
  }
  SavedSignals(const SavedSignals&) = delete;
  SavedSignals& operator=(const SavedSignals&) = delete;

 private:
  static constexpr std::array<int, 3> signals{SIGINT, SIGTERM, SIGXFSZ};
  std::array<struct sigaction, signals.size()> before_{};
};

}  // namespace cubinet::jit
