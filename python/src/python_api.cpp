#include "python/src/python_api.hpp"

#include <cstring>

namespace cubinet::python {

PyObject* decoded(const char* text) {
  return PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "replace");
}

void raise_error(cubinet_status status, const char* message, const char* detail) {
  const Reference module(PyImport_ImportModule("cubinet._error"));
  const Reference text(decoded(message));
  const Reference more(decoded(detail));
  if (!module || !text || !more) return;
  const Reference error(
      PyObject_CallMethod(module.get(), "of_library", "OsO", text.get(), cubinet_status_name(status), more.get()));
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
}

void raise_status(cubinet_status status) { raise_error(status, cubinet_last_error(), cubinet_last_error_detail()); }

}  // namespace cubinet::python
