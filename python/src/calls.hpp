// The functions that launch, under DeepGEMM's names.
#pragma once

#include <Python.h>

namespace cubinet::python {

// Adds the functions to the module. False with an exception set.
bool add_calls(PyObject* module);

}  // namespace cubinet::python
