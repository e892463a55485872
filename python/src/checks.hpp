// Checks of a call's tensors. Each returns true, or false with ValueError or TypeError set: the message names the
// argument, what was expected and what was given.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "python/src/tensor_view.hpp"

namespace cubinet::python {

// A tensor argument: its name for messages, the object (borrowed), and what was read from it.
struct Operand {
  const char* name;
  PyObject* object;
  TensorView view;
};

// Fills in `operand`, and checks its type and rank. `symbols` is the expected shape for messages, "(M, K)".
bool read(Operand& operand, const char* name, PyObject* object, ElementType type, std::int32_t rank,
          const char* symbols);

bool check_shape(const Operand& operand, std::initializer_list<std::int64_t> shape);

// The elements lie in row-major order without gaps.
bool check_contiguous(const Operand& operand);

// The operand is on the same CUDA device as `first`. With the operand itself as `first`: it is on a CUDA device.
bool check_device(const Operand& operand, const Operand& first);

// The address is a multiple of 16, which the hardware's bulk copies require.
bool check_aligned(const Operand& operand);

// The strides and the address of activation scales are those of one of the two layouts of cubinet/scales.hpp. Sets
// `row_major` if the launch must transpose them, for which it needs a workspace. Precondition: type and shape are
// checked.
bool check_row_scales(const Operand& operand, std::int64_t rows, bool& row_major);

}  // namespace cubinet::python
