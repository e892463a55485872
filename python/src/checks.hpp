// What each tensor of a call must be. Every check answers false with ValueError or TypeError set, which names the
// argument, what was expected and what came.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "python/src/tensor_view.hpp"

namespace cubinet::python {

// An argument of a call: its name for messages, the object, and what was read from it.
struct Operand {
  const char* name;
  PyObject* object;
  TensorView view;
};

// Reads the tensor and checks its type and rank. `symbols` says the expected shape in words, "(M, K)".
bool read(Operand& operand, const char* name, PyObject* object, ElementType type, std::int32_t rank,
          const char* symbols);

bool check_shape(const Operand& operand, std::initializer_list<std::int64_t> shape);

// All elements back to back, the last dimension the fastest.
bool check_contiguous(const Operand& operand);

// On the CUDA device of `first`, which may be the operand itself: then only that it is on one.
bool check_device(const Operand& operand, const Operand& first);

// The address is a multiple of 16, as the hardware's bulk copies demand.
bool check_aligned(const Operand& operand);

// Activation scales: type and shape are checked already. `row_major` tells whether the launch has to bring them into
// the layout that the kernels read, which scales.hpp of the public headers describes with the other.
bool check_row_scales(const Operand& operand, std::int64_t rows, bool& row_major);

}  // namespace cubinet::python
