#include "python/src/interrupts.hpp"

#include <ctime>

namespace cubinet::python {

Interrupts::Interrupts() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaction(SIGINT, nullptr, &handler_);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

Interrupts::~Interrupts() {
  sigaction(SIGINT, &handler_, nullptr);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool Interrupts::take() {
  const timespec at_once{};
  return sigtimedwait(&signals_, nullptr, &at_once) == SIGINT;
}

}  // namespace cubinet::python
