// SIGINT while NVRTC compiles: it puts handlers of its own in the place of Python's. So the signal stays blocked on
// this thread and on those that it starts, and is asked for instead; afterwards Python's handler is back in its place.
#pragma once

#include <signal.h>

namespace cubinet::python {

class Interrupts {
 public:
  Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts();

  // Whether one has come since. Takes it away.
  bool take();

 private:
  sigset_t signals_;
  sigset_t before_;
  struct sigaction handler_;
};

}  // namespace cubinet::python
