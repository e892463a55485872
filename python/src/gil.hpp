// The GIL, released for as long as an object of this lives.
#pragma once

#include <Python.h>

#include <cxxabi.h>
#include <unistd.h>

namespace cubinet::python {

// Where the interpreter ends meanwhile, CPython (before 3.14) ends the thread that asks for the GIL again, by unwinding
// it, which no destructor lets pass; such a thread waits here for the process's end instead, as in 3.14.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;
  ~WithoutGil() {
    try {
      PyEval_RestoreThread(state_);
    } catch (abi::__forced_unwind&) {
      for (;;) pause();
    }
  }

 private:
  PyThreadState* state_;
};

}  // namespace cubinet::python
