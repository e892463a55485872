// What the binding needs of Python's C API: owned references, the GIL, and the package's exceptions.
#pragma once

#include <Python.h>

#include <cxxabi.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "cubinet/cubinet.h"

namespace cubinet::python {

// An owned reference to a Python object, or null, for code that does without nanobind's wrappers. Needs the GIL.
class Reference {
 public:
  explicit Reference(PyObject* owned = nullptr) : object_(owned) {}
  Reference(Reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Reference& operator=(Reference&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Reference() { Py_XDECREF(object_); }

  // Adds a reference to a borrowed object.
  static Reference borrowed(PyObject* object) {
    Py_XINCREF(object);
    return Reference(object);
  }

  [[nodiscard]] PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_;
};

// Blocks the thread until the process ends. Before 3.14, CPython ends a thread that asks for the GIL while the
// interpreter ends, by unwinding its stack, which a destructor must not let through. CPython 3.14 blocks such threads
// as well.
[[noreturn]] inline void wait_for_the_end() {
  for (;;) pause();
}

// Releases the GIL for its lifetime.
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

// Runs `code` with the GIL, on a thread that has released it. Precondition: `code` throws nothing.
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

// A text of the library as a str. Bytes that are not UTF-8, as paths may have, are replaced. A new reference; null with
// an exception set.
inline PyObject* decoded(const char* text) {
  return PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "replace");
}

// Sets cubinet.Error. Needs the GIL.
inline void raise_error(cubinet_status status, const char* message, const char* detail = "") {
  const Reference module(PyImport_ImportModule("cubinet._error"));
  const Reference text(decoded(message));
  const Reference more(decoded(detail));
  if (!module || !text || !more) return;
  const Reference error(
      PyObject_CallMethod(module.get(), "of_library", "OsO", text.get(), cubinet_status_name(status), more.get()));
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
}

// Sets cubinet.Error with this thread's last error of the library. To be called with the GIL, on the thread of the call
// that failed.
inline void raise_status(cubinet_status status) {
  raise_error(status, cubinet_last_error(), cubinet_last_error_detail());
}

}  // namespace cubinet::python
