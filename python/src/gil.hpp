// The GIL, given up and taken back.
#pragma once

#include <Python.h>

#include <cxxabi.h>
#include <unistd.h>

namespace cubinet::python {

// Where the interpreter ends meanwhile, CPython (before 3.14) ends the thread that asks for the GIL again, by unwinding
// it, which no destructor lets pass; such a thread waits here for the process's end instead, as in 3.14.
[[noreturn]] inline void wait_for_the_end() {
  for (;;) pause();
}

// The GIL is released for as long as an object of this lives.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;
  ~WithoutGil() {
    try {
      PyEval_RestoreThread(state_);
    } catch (abi::__forced_unwind&) {
      wait_for_the_end();
    }
  }

 private:
  PyThreadState* state_;
};

// Runs Python code on a thread that has released the GIL. The code throws nothing.
template <typename Code>
void with_gil(Code&& code) {
  try {
    const PyGILState_STATE state = PyGILState_Ensure();
    code();
    PyGILState_Release(state);
  } catch (abi::__forced_unwind&) {
    wait_for_the_end();
  }
}

}  // namespace cubinet::python
