#include "python/src/errors.hpp"

#include "python/src/reference.hpp"

namespace cubinet::python {

void raise_error(cubinet_status status, const char* message, const char* detail) {
  const Reference module(PyImport_ImportModule("cubinet._error"));
  const Reference type(module ? PyObject_GetAttrString(module.get(), "Error") : nullptr);
  // Texts are UTF-8, but paths in them are what the file system holds.
  const Reference text(PyUnicode_DecodeUTF8(message, static_cast<Py_ssize_t>(strlen(message)), "replace"));
  const Reference more(PyUnicode_DecodeUTF8(detail, static_cast<Py_ssize_t>(strlen(detail)), "replace"));
  if (!type || !text || !more) return;
  const Reference error(PyObject_CallFunction(type.get(), "OsO", text.get(), cubinet_status_name(status), more.get()));
  if (error) PyErr_SetObject(type.get(), error.get());
}

void raise_status(cubinet_status status) { raise_error(status, cubinet_last_error(), cubinet_last_error_detail()); }

}  // namespace cubinet::python
