// An owned reference to a Python object, for code that does without nanobind's wrappers.
#pragma once

#include <Python.h>

#include <utility>

namespace cubinet::python {

class Reference {
 public:
  explicit Reference(PyObject* owned = nullptr) : object_(owned) {}
  Reference(Reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Reference& operator=(Reference&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Reference() { Py_XDECREF(object_); }

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

}  // namespace cubinet::python
