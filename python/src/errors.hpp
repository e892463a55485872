// How the library's errors become Python's.
#pragma once

#include <Python.h>

#include "cubinet/cubinet.h"

namespace cubinet::python {

// Raises cubinet.Error of this thread's last error in the library. To be called on the thread of the call, with the
// GIL.
void raise_status(cubinet_status status);

// The same with texts of one's own.
void raise_error(cubinet_status status, const char* message, const char* detail = "");

}  // namespace cubinet::python
