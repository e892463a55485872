// The functions that launch, under DeepGEMM's names.
#pragma once

#include <Python.h>

#include <cstdint>

namespace cubinet::python {

// Limits the SMs that each later launch may occupy; 0: all of the device. Needs the GIL.
void set_num_sms(std::int32_t num_sms);

// Adds the functions to the module. False with an exception set.
bool add_calls(PyObject* module);

}  // namespace cubinet::python
