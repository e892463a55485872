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

Reference Interrupts::handler_of_python() {
  const Reference module(PyImport_ImportModule("_signal"));
  Reference handler(module ? PyObject_CallMethod(module.get(), "getsignal", "i", SIGINT) : nullptr);
  PyErr_Clear();
  return handler;
}

void Interrupts::adopt(const Reference& handler) {
  // NVRTC may have put its own over it already.
  const Reference module(PyImport_ImportModule("_signal"));
  const Reference before(module && handler ? PyObject_CallMethod(module.get(), "signal", "iO", SIGINT, handler.get())
                                           : nullptr);
  if (before) sigaction(SIGINT, nullptr, &handler_);
  PyErr_Clear();  // set in C, or by another thread than Python's main one: then it is not to be had here
}

}  // namespace cubinet::python
