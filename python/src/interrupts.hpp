// SIGINT while NVRTC compiles: it puts handlers of its own in the place of Python's. So the signal stays blocked on
// this thread and on those that it starts, and is asked for instead; afterwards Python's handler is back in its place.
#pragma once

#include <Python.h>

#include <signal.h>

#include "python/src/reference.hpp"

namespace cubinet::python {

class Interrupts {
 public:
  Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts();

  // Whether one has come since. Takes it away.
  bool take();

  // Runs Python code, with the GIL: a handler that it sets is the one that is in its place afterwards. The code leaves
  // no exception set.
  template <typename Code>
  void run_python(Code&& code) {
    const Reference before = handler_of_python();
    code();
    const Reference now = handler_of_python();
    if (before.get() != now.get()) adopt(now);
  }

 private:
  // What signal.getsignal() says; null where it says nothing.
  static Reference handler_of_python();
  void adopt(const Reference& handler);

  sigset_t signals_;
  sigset_t before_;
  struct sigaction handler_;
};

}  // namespace cubinet::python
