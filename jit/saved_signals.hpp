// Protects signal handlers while NVRTC compiles in this process for the first time.
#pragma once

#include <signal.h>

#include <array>

namespace cubinet::jit {

// Restores, at the end of its scope, the signal handlers that NVRTC changes. At the first compilation of a process
// NVRTC replaces the handlers of SIGINT, SIGTERM and SIGXFSZ for about 15 ms. It then restores them without SA_SIGINFO
// and with another mask. A signal within those 15 ms is lost, or ends the process with exit code 4. This matters only
// in a process that compiles without compile workers (worker_pool.hpp).
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
