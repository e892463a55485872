// How the library's errors become Python's.
#pragma once

#include <Python.h>

#include "cubinet/cubinet.h"

namespace cubinet::python {

// Raises cubinet.Error of this thread's last error in the library. To be called on the thread of the call, with the
// GIL.
void raise_status(cubinet_status status);

// The library's text as Python's: UTF-8, but for paths in it that are none. A new reference; null with an exception
// set.
PyObject* decoded(const char* text);

// The same as raise_status with texts of one's own.
void raise_error(cubinet_status status, const char* message, const char* detail = "");

}  // namespace cubinet::python
