// Reads the arguments of a call, by position or by DeepGEMM's names, without making Python objects.
#pragma once

#include <Python.h>

#include <array>
#include <cstdint>

#include "python/src/python_api.hpp"

namespace cubinet::python {

// The kind of a parameter: an operand, which has a place among the values, or an option, which is checked and then
// ignored. `grouping` is m_indices or masked_m, whichever the layout has.
enum class Role : std::uint8_t { a, b, d, grouping, expected_m, option };
constexpr std::size_t kValueCount = 5;

// Which values of an option these kernels support.
struct OptionRule {
  bool (*takes)(PyObject* value);
  const char* taken;  // the supported values, for messages: "None or (1, 128, 128)"
};

struct Parameter {
  Role role;
  const char* name;
  const char* other_name = nullptr;  // the name in another version of DeepGEMM
  const OptionRule* rule = nullptr;  // of an option; null for operands
  PyObject* interned[2] = {nullptr, nullptr};
};

// The parameters of a function in the order of their positions.
struct Signature {
  const char* function;
  Parameter* parameters;
  std::size_t count;
  bool masked;
};

using Values = std::array<PyObject*, kValueCount>;  // borrowed; null: not given

// Interns the names. To be called once, before the first parse(). False with an exception set.
bool intern_names(Signature& signature);

// Writes the operands to `values`. False with TypeError or ValueError set: an argument is unknown, missing or given
// twice, or an option has a value that is not supported.
bool parse(const Signature& signature, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords,
           Values& values);

// Sets ValueError "NAME: expected TAKEN, got VALUE" and returns false. VALUE is the value's repr() if that runs no code
// but Python's own, else its type.
bool refuse_value(const char* name, const char* taken, PyObject* value);

// The two parts of an FP8 operand. It holds references, since another thread may change the list that they come from.
struct Pair {
  Reference tensor;
  Reference scales;
};

// Splits a tuple or list of two. False with TypeError set.
bool split_pair(const char* name, PyObject* object, Pair& pair);

extern Signature bf16_contiguous_signature;
extern Signature bf16_masked_signature;
extern Signature fp8_contiguous_signature;
extern Signature fp8_masked_signature;
extern Signature bf16_dense_signature;
extern Signature fp8_dense_signature;

}  // namespace cubinet::python
