// The calls that launch: DeepGEMM's names for what these kernels serve, as functions for Python.
#pragma once

#include <Python.h>

namespace cubinet::python {

// Adds them to the module. False with an exception set.
bool add_calls(PyObject* module);

}  // namespace cubinet::python
