#include "python/src/arguments.hpp"

#include <cstring>
#include <initializer_list>
#include <string>

namespace cubinet::python {
namespace {

bool is_none(PyObject* value) { return value == Py_None; }
bool is_false(PyObject* value) { return value == Py_False || value == Py_None; }
bool is_anything(PyObject*) { return true; }

// Whether repr() of the value runs no code but Python's own. That of a tensor would launch kernels.
bool is_plain(PyObject* value) {
  if (PyTuple_CheckExact(value) || PyList_CheckExact(value)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(value, i);
      if (PyTuple_CheckExact(item) || PyList_CheckExact(item) || !is_plain(item)) return false;
    }
    return true;
  }
  return value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
         PyUnicode_CheckExact(value);
}

// Whether `value` is None or a sequence of these numbers.
bool is_recipe(PyObject* value, std::initializer_list<long> numbers) {
  if (value == Py_None) return true;
  if (!PyTuple_Check(value) && !PyList_Check(value)) return false;
  if (PySequence_Fast_GET_SIZE(value) != static_cast<Py_ssize_t>(numbers.size())) return false;
  Py_ssize_t at = 0;
  for (const long number : numbers) {
    PyObject* item = PySequence_Fast_GET_ITEM(value, at++);
    if (!PyLong_Check(item) || PyLong_AsLong(item) != number) return PyErr_Clear(), false;
  }
  return true;
}

const OptionRule none = {is_none, "None"};
const OptionRule no = {is_false, "False"};
const OptionRule anything = {is_anything, "anything"};
const OptionRule recipe = {[](PyObject* value) { return is_recipe(value, {1, 128, 128}); }, "None or (1, 128, 128)"};
const OptionRule recipe_a = {[](PyObject* value) { return is_recipe(value, {1, 128}); }, "None or (1, 128)"};
const OptionRule recipe_b = {[](PyObject* value) { return is_recipe(value, {128, 128}); }, "None or (128, 128)"};

// Options that only tune DeepGEMM are accepted and ignored: which dimensions are compiled in, and a conversion that
// sm_90 does not have. Padding rows are never written, so ensure_zero_padding cannot be supported.
Parameter bf16_contiguous[] = {
    {Role::a, "a", "lhs"},
    {Role::b, "b", "rhs"},
    {Role::d, "d", "out"},
    {Role::grouping, "m_indices", "grouped_layout"},
    {Role::option, "compiled_dims", nullptr, &anything},
    {Role::option, "use_psum_layout", nullptr, &no},
    {Role::option, "ensure_zero_padding", nullptr, &no},
    {Role::option, "expected_m_for_psum_layout", nullptr, &none},
};
Parameter bf16_masked[] = {
    {Role::a, "a", "lhs"},
    {Role::b, "b", "rhs"},
    {Role::d, "d", "out"},
    {Role::grouping, "masked_m"},
    {Role::expected_m, "expected_m"},
    {Role::option, "compiled_dims", nullptr, &anything},
    {Role::option, "enable_overlap", nullptr, &no},
    {Role::option, "signal", nullptr, &none},
};
Parameter fp8_contiguous[] = {
    {Role::a, "a", "lhs"},
    {Role::b, "b", "rhs"},
    {Role::d, "d", "out"},
    {Role::grouping, "m_indices", "grouped_layout"},
    {Role::option, "recipe", nullptr, &recipe},
    {Role::option, "recipe_a", nullptr, &recipe_a},
    {Role::option, "recipe_b", nullptr, &recipe_b},
    {Role::option, "compiled_dims", nullptr, &anything},
    {Role::option, "disable_ue8m0_cast", nullptr, &anything},
    {Role::option, "use_psum_layout", nullptr, &no},
    {Role::option, "ensure_zero_padding", nullptr, &no},
    {Role::option, "expected_m_for_psum_layout", nullptr, &none},
};
Parameter fp8_masked[] = {
    {Role::a, "a", "lhs"},
    {Role::b, "b", "rhs"},
    {Role::d, "d", "out"},
    {Role::grouping, "masked_m"},
    {Role::expected_m, "expected_m"},
    {Role::option, "recipe", nullptr, &recipe},
    {Role::option, "recipe_a", nullptr, &recipe_a},
    {Role::option, "recipe_b", nullptr, &recipe_b},
    {Role::option, "compiled_dims", nullptr, &anything},
    {Role::option, "disable_ue8m0_cast", nullptr, &anything},
    {Role::option, "enable_overlap", nullptr, &no},
    {Role::option, "max_block_n", nullptr, &anything},
    {Role::option, "signal", nullptr, &none},
};
Parameter bf16_dense[] = {
    {Role::a, "a", "lhs"},
    {Role::b, "b", "rhs"},
    {Role::d, "d", "out"},
    {Role::option, "c", nullptr, &none},
    {Role::option, "compiled_dims", nullptr, &anything},
    {Role::option, "alpha", nullptr, &none},
};
Parameter fp8_dense[] = {
    {Role::a, "a", "lhs"},
    {Role::b, "b", "rhs"},
    {Role::d, "d", "out"},
    {Role::option, "c", nullptr, &none},
    {Role::option, "recipe", nullptr, &recipe},
    {Role::option, "recipe_a", nullptr, &recipe_a},
    {Role::option, "recipe_b", nullptr, &recipe_b},
    {Role::option, "compiled_dims", nullptr, &anything},
    {Role::option, "disable_ue8m0_cast", nullptr, &anything},
    {Role::option, "alpha", nullptr, &none},
};

bool refuse(const Signature& signature, const std::string& what) {
  PyErr_Format(PyExc_TypeError, "%s(): %s", signature.function, what.c_str());
  return false;
}

std::string names_of(const Signature& signature) {
  std::string names;
  for (std::size_t i = 0; i < signature.count; ++i)
    names += (i == 0 ? "" : ", ") + std::string(signature.parameters[i].name);
  return names;
}

const Parameter* find(const Signature& signature, PyObject* keyword) {
  const Parameter* end = signature.parameters + signature.count;
  // Names in source code are interned: their addresses are compared first. Then others are compared as text.
  for (const Parameter* at = signature.parameters; at != end; ++at) {
    if (at->interned[0] == keyword || at->interned[1] == keyword) return at;
  }
  for (const Parameter* at = signature.parameters; at != end; ++at) {
    if (PyUnicode_CompareWithASCIIString(keyword, at->name) == 0) return at;
    if (at->other_name != nullptr && PyUnicode_CompareWithASCIIString(keyword, at->other_name) == 0) return at;
  }
  return nullptr;
}

// Stores one argument. `given` has a bit for each parameter that was given before.
bool take(const Signature& signature, const Parameter& parameter, PyObject* value, Values& values,
          std::uint32_t& given) {
  const std::uint32_t bit = std::uint32_t{1} << (&parameter - signature.parameters);
  if ((given & bit) != 0) return refuse(signature, std::string(parameter.name) + " is given twice");
  given |= bit;
  if (parameter.role != Role::option) {
    values[static_cast<std::size_t>(parameter.role)] = value;
    return true;
  }
  return parameter.rule->takes(value) || refuse_value(parameter.name, parameter.rule->taken, value);
}

bool refuse_keyword(const Signature& signature, PyObject* keyword) {
  PyErr_Format(PyExc_TypeError, "%s(): unknown argument %R; it takes %s", signature.function, keyword,
               names_of(signature).c_str());
  return false;
}

bool check_all_given(const Signature& signature, const Values& values) {
  for (std::size_t i = 0; i < signature.count; ++i) {
    const Parameter& parameter = signature.parameters[i];
    if (parameter.role == Role::option || values[static_cast<std::size_t>(parameter.role)] != nullptr) continue;
    return refuse(signature, std::string(parameter.name) + " is missing");
  }
  return true;
}

template <std::size_t Count>
Signature signature(const char* function, Parameter (&parameters)[Count], bool masked = false) {
  static_assert(Count <= 32, "take() has a bit for each");
  return {function, parameters, Count, masked};
}

}  // namespace

Signature bf16_contiguous_signature = signature("m_grouped_bf16_gemm_nt_contiguous", bf16_contiguous);
Signature bf16_masked_signature = signature("m_grouped_bf16_gemm_nt_masked", bf16_masked, true);
Signature fp8_contiguous_signature = signature("m_grouped_fp8_gemm_nt_contiguous", fp8_contiguous);
Signature fp8_masked_signature = signature("m_grouped_fp8_gemm_nt_masked", fp8_masked, true);
Signature bf16_dense_signature = signature("bf16_gemm_nt", bf16_dense);
Signature fp8_dense_signature = signature("fp8_gemm_nt", fp8_dense);

bool intern_names(Signature& signature) {
  for (std::size_t i = 0; i < signature.count; ++i) {
    Parameter& parameter = signature.parameters[i];
    parameter.interned[0] = PyUnicode_InternFromString(parameter.name);
    if (parameter.other_name != nullptr) parameter.interned[1] = PyUnicode_InternFromString(parameter.other_name);
  }
  return PyErr_Occurred() == nullptr;
}

bool parse(const Signature& signature, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords,
           Values& values) {
  values.fill(nullptr);
  std::uint32_t given = 0;
  if (static_cast<std::size_t>(count) > signature.count) {
    return refuse(signature, "takes at most " + std::to_string(signature.count) + " arguments (" + names_of(signature) +
                                 "), got " + std::to_string(count));
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!take(signature, signature.parameters[i], arguments[i], values, given)) return false;
  }
  const Py_ssize_t named = keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* keyword = PyTuple_GET_ITEM(keywords, i);
    const Parameter* parameter = find(signature, keyword);
    if (parameter == nullptr) return refuse_keyword(signature, keyword);
    if (!take(signature, *parameter, arguments[count + i], values, given)) return false;
  }
  return check_all_given(signature, values);
}

bool refuse_value(const char* name, const char* taken, PyObject* value) {
  constexpr std::size_t longest = 80;
  std::string shown = Py_TYPE(value)->tp_name;
  if (is_plain(value)) {
    const Reference written(PyObject_Repr(value));
    const char* text = written ? PyUnicode_AsUTF8(written.get()) : nullptr;
    if (text != nullptr && std::strlen(text) <= longest) shown = text;
    PyErr_Clear();
  }
  PyErr_Format(PyExc_ValueError, "%s: expected %s, got %s", name, taken, shown.c_str());
  return false;
}

bool split_pair(const char* name, PyObject* object, Pair& pair) {
  const bool sequence = PyTuple_Check(object) || PyList_Check(object);
  if (!sequence || PySequence_Fast_GET_SIZE(object) != 2) {
    if (sequence) {
      PyErr_Format(PyExc_TypeError, "%s: expected a pair (tensor, scales), got %zd items", name,
                   PySequence_Fast_GET_SIZE(object));
    } else {
      PyErr_Format(PyExc_TypeError, "%s: expected a pair (tensor, scales), got %s", name, Py_TYPE(object)->tp_name);
    }
    return false;
  }
  pair.tensor = Reference::borrowed(PySequence_Fast_GET_ITEM(object, 0));
  pair.scales = Reference::borrowed(PySequence_Fast_GET_ITEM(object, 1));
  return true;
}

}  // namespace cubinet::python
