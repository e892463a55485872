// The arguments of a call by position or name, as DeepGEMM names them, without making Python objects.
#pragma once

#include <Python.h>

#include <array>
#include <cstdint>

#include "python/src/reference.hpp"

namespace cubinet::python {

// What a parameter is: an operand's place among the values, or an option that is looked at and dropped.
enum class Role : std::uint8_t { a, b, d, index, expected_m, option };
constexpr std::size_t kValueCount = 5;

// Whether the value of an option asks for what these kernels do; if not, what would be taken.
struct OptionRule {
  bool (*takes)(PyObject* value);
  const char* taken;  // "None or (1, 128, 128)"
};

struct Parameter {
  Role role;
  const char* name;
  const char* other_name = nullptr;  // as another version of DeepGEMM says
  const OptionRule* rule = nullptr;  // of an option
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

// To be called once before the first parse. False with an exception set.
bool intern_names(Signature& signature);

// False with TypeError or ValueError set, for unknown, doubled and missing arguments, and options that are not taken.
bool parse(const Signature& signature, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords,
           Values& values);

// ValueError "NAME: expected TAKEN, got ...": the value as it is written where that runs no code of others, else its
// type. Always false.
bool refuse_value(const char* name, const char* taken, PyObject* value);

// The two parts of an FP8 operand, held: another thread may change the list that they come from.
struct Pair {
  Reference tensor;
  Reference scales;
};

// False with TypeError set.
bool split_pair(const char* name, PyObject* object, Pair& pair);

extern Signature bf16_contiguous_signature;
extern Signature bf16_masked_signature;
extern Signature fp8_contiguous_signature;
extern Signature fp8_masked_signature;
extern Signature bf16_dense_signature;
extern Signature fp8_dense_signature;

}  // namespace cubinet::python
