#include "python/src/calls.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <exception>
#include <limits>
#include <new>
#include <vector>

#include "cubinet/cubinet.h"
#include "cubinet/scales.hpp"
#include "python/src/arguments.hpp"
#include "python/src/checks.hpp"
#include "python/src/engines.hpp"
#include "python/src/python_api.hpp"
#include "python/src/tensor_view.hpp"

namespace cubinet::python {
namespace {

// m_indices of a single group, for the dense calls: zeros in device memory.
struct Zeros {
  const std::int32_t* data = nullptr;
  std::int64_t rows = 0;
};
std::vector<Zeros> zeros_of_device;  // by ordinal; guarded by the GIL

constexpr std::int64_t kLeastRows = 16384;

// Allocates zeros for more rows. The memory that they replace is not freed: launches and graphs may still read it.
bool grow_zeros(const TensorView& view, std::int64_t rows, void* stream) {
  if (cubinet_is_capturing(stream) != 0) {
    raise_error(
        CUBINET_CAPTURING,
        "a dense GEMM over more rows than any before it needs memory for m_indices while its stream is captured into "
        "a CUDA graph: call it once before the capture");
    return false;
  }
  const std::int64_t wanted =
      std::max(kLeastRows, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rows))));
  const Reference module(PyImport_ImportModule("cubinet.deep_gemm"));
  if (!module) return false;
  Reference tensor(PyObject_CallMethod(module.get(), "_zero_indices", "iL", static_cast<int>(view.device),
                                       static_cast<long long>(wanted)));
  TensorView zeros;
  if (!tensor || !read_tensor(tensor.get(), "m_indices", zeros)) return false;
  zeros_of_device[static_cast<std::size_t>(view.device)] = {static_cast<const std::int32_t*>(zeros.data), wanted};
  tensor.release();
  return true;
}

// At least `rows` zeros on the device of `view`. Nothing ever writes or frees them. Null with an exception set:
// `capturing` where more zeros must be allocated and `stream` is being captured, or what the framework's allocator
// raised.
const std::int32_t* zero_indices(const TensorView& view, std::int64_t rows, void* stream) {
  const auto device = static_cast<std::size_t>(view.device);
  if (zeros_of_device.size() <= device) zeros_of_device.resize(device + 1);
  if (zeros_of_device[device].rows < rows && !grow_zeros(view, rows, stream)) return nullptr;
  return zeros_of_device[device].data;
}

enum class Form { contiguous, masked, dense };

// What a function computes. A template argument, so that the branches on it cost nothing.
struct Kind {
  Form form;
  bool fp8;
  [[nodiscard]] bool masked() const { return form == Form::masked; }
};

// The most SMs that a launch may occupy; 0: all of the device. Guarded by the GIL.
std::int32_t most_sms = 0;

// The operands and sizes of a call. The scales are read for FP8 only, `grouping` not for the dense form.
struct Call {
  Pair a_pair, b_pair;  // FP8
  Operand a, b, d, grouping, a_scales, b_scales;
  std::int64_t m, n, k, groups;
  std::int64_t expected_m;
  bool row_major_scales;
};

bool refuse_expected_m(PyObject* value) {
  PyErr_Format(PyExc_TypeError, "expected_m: expected an int, got %s", Py_TYPE(value)->tp_name);
  return false;
}

// expected_m is a hint: 0 and less mean 1, and an int beyond 64 bits means the largest one.
bool read_expected_m(PyObject* value, std::int64_t& expected_m) {
  // An object with __index__ is accepted as an int, except a bool and a tensor, which would wait for its device.
  const bool tensor = !PyLong_Check(value) && PyObject_HasAttrString(value, "data_ptr") != 0;
  if (tensor || PyBool_Check(value)) return refuse_expected_m(value);
  int overflow = 0;
  expected_m = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (expected_m > 0) return true;
  if (PyErr_Occurred() != nullptr) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
    PyErr_Clear();
    return refuse_expected_m(value);
  }
  expected_m = overflow > 0 ? std::numeric_limits<std::int64_t>::max() : 1;
  return true;
}

bool read_scales(const Values& values, Kind kind, Call& call) {
  if (!split_pair("a", values[0], call.a_pair) || !split_pair("b", values[1], call.b_pair)) return false;
  return read(call.a_scales, "a_scales", call.a_pair.scales.get(), ElementType::fp32, kind.masked() ? 3 : 2,
              kind.masked() ? "(groups, M, K / 128)" : "(M, K / 128)") &&
         read(call.b_scales, "b_scales", call.b_pair.scales.get(), ElementType::fp32, kind.form == Form::dense ? 2 : 3,
              kind.form == Form::dense ? "(N / 128, K / 128)" : "(groups, N / 128, K / 128)");
}

bool read_operands(const Values& values, Kind kind, Call& call) {
  if (kind.fp8 && !read_scales(values, kind, call)) return false;
  PyObject* const a = kind.fp8 ? call.a_pair.tensor.get() : values[0];
  PyObject* const b = kind.fp8 ? call.b_pair.tensor.get() : values[1];
  const ElementType type = kind.fp8 ? ElementType::fp8 : ElementType::bf16;
  const bool masked = kind.masked(), dense = kind.form == Form::dense;
  return read(call.a, "a", a, type, masked ? 3 : 2, masked ? "(groups, M, K)" : "(M, K)") &&
         read(call.b, "b", b, type, dense ? 2 : 3, dense ? "(N, K)" : "(groups, N, K)") &&
         read(call.d, "d", values[2], ElementType::bf16, masked ? 3 : 2, masked ? "(groups, M, N)" : "(M, N)") &&
         (dense || read(call.grouping, masked ? "masked_m" : "m_indices", values[3], ElementType::int32, 1,
                        masked ? "(groups,)" : "(M,)"));
}

bool check_devices(Kind kind, const Call& call) {
  if (!check_device(call.a, call.a) || !check_device(call.b, call.a) || !check_device(call.d, call.a)) return false;
  if (kind.form != Form::dense && !check_device(call.grouping, call.a)) return false;
  return !kind.fp8 || (check_device(call.a_scales, call.a) && check_device(call.b_scales, call.a));
}

// Takes M, N, K and the number of groups from a and b, and checks that every shape follows from them.
bool check_shapes(Kind kind, Call& call) {
  const std::int64_t* a = call.a.view.shape;
  const std::int64_t* b = call.b.view.shape;
  const bool masked = kind.masked();
  call.m = masked ? a[1] : a[0];
  call.k = masked ? a[2] : a[1];
  if (kind.form == Form::dense) {
    call.n = b[0];
    call.groups = 1;
    return check_shape(call.b, {call.n, call.k}) && check_shape(call.d, {call.m, call.n});
  }
  call.n = b[1];
  call.groups = masked ? a[0] : b[0];
  if (!check_shape(call.b, {call.groups, call.n, call.k})) return false;
  if (masked) return check_shape(call.d, {call.groups, call.m, call.n}) && check_shape(call.grouping, {call.groups});
  return check_shape(call.d, {call.m, call.n}) && check_shape(call.grouping, {call.m});
}

bool check_scale_shapes(Kind kind, const Call& call) {
  const std::int64_t blocks = scale_blocks(call.k), rows = scale_blocks(call.n);
  const bool activations = kind.masked() ? check_shape(call.a_scales, {call.groups, call.m, blocks})
                                         : check_shape(call.a_scales, {call.m, blocks});
  if (!activations) return false;
  return kind.form == Form::dense ? check_shape(call.b_scales, {rows, blocks})
                                  : check_shape(call.b_scales, {call.groups, rows, blocks});
}

bool check_memory(Kind kind, Call& call) {
  for (const Operand* operand : {&call.a, &call.b, &call.d}) {
    if (!check_contiguous(*operand) || !check_aligned(*operand)) return false;
  }
  if (kind.form != Form::dense && !check_contiguous(call.grouping)) return false;
  if (!kind.fp8) return true;
  return check_row_scales(call.a_scales, call.m, call.row_major_scales) && check_contiguous(call.b_scales);
}

cubinet_scales scales_of(const TensorView& view, bool one_group) {
  cubinet_scales scales{};
  scales.data = view.data;
  scales.type = CUBINET_SCALE_FP32;
  scales.rank = one_group ? 3 : view.rank;
  const std::int32_t first = one_group ? 1 : 0;
  scales.shape[0] = 1;
  for (std::int32_t i = 0; i < view.rank; ++i) {
    scales.shape[first + i] = view.shape[i];
    scales.strides[first + i] = view.strides[i];
  }
  return scales;
}

// Fills in the arguments that both layouts have. False with an exception set.
template <typename Arguments>
bool fill(Kind kind, const Call& call, Workspace& workspace, Arguments& arguments) {
  arguments.size = sizeof(Arguments);
  arguments.a = call.a.view.data;
  arguments.b = call.b.view.data;
  arguments.d = call.d.view.data;
  arguments.num_sms = most_sms;
  if (!kind.fp8) return true;
  arguments.a_scales = scales_of(call.a_scales.view, false);
  arguments.b_scales = scales_of(call.b_scales.view, kind.form == Form::dense);
  if (!call.row_major_scales) return true;
  const std::int64_t bytes = scale_workspace_bytes(kind.masked() ? call.groups : 1, call.m, call.k);
  if (!workspace.allocate(call.a_scales.view, bytes)) return false;
  arguments.workspace = workspace.data();
  arguments.workspace_bytes = bytes;
  return true;
}

// Sets an exception if it fails.
void launch_contiguous(Kind kind, const Call& call, const cubinet_gemm* gemm, void* stream) {
  Workspace workspace;
  cubinet_contiguous_args arguments{};
  if (!fill(kind, call, workspace, arguments)) return;
  arguments.m = call.m;
  arguments.m_indices = kind.form == Form::dense ? zero_indices(call.a.view, call.m, stream)
                                                 : static_cast<const std::int32_t*>(call.grouping.view.data);
  if (arguments.m_indices == nullptr && PyErr_Occurred() != nullptr) return;
  const auto launch = kind.fp8 ? cubinet_launch_fp8_grouped_contiguous : cubinet_launch_bf16_grouped_contiguous;
  if (const cubinet_status status = launch(gemm, &arguments, stream); status != CUBINET_OK) raise_status(status);
}

void launch_masked(Kind kind, const Call& call, const cubinet_gemm* gemm, void* stream) {
  Workspace workspace;
  cubinet_masked_args arguments{};
  if (!fill(kind, call, workspace, arguments)) return;
  arguments.capacity = call.m;
  arguments.expected_m = call.expected_m;
  arguments.masked_m = static_cast<const std::int32_t*>(call.grouping.view.data);
  const auto launch = kind.fp8 ? cubinet_launch_fp8_grouped_masked : cubinet_launch_bf16_grouped_masked;
  if (const cubinet_status status = launch(gemm, &arguments, stream); status != CUBINET_OK) raise_status(status);
}

// Sets an exception if it fails. Without rows it launches nothing and does not look at strides and addresses.
void run(Kind kind, const Values& values, Call& call) {
  if (kind.masked() && !read_expected_m(values[4], call.expected_m)) return;
  if (!read_operands(values, kind, call) || !check_devices(kind, call) || !check_shapes(kind, call)) return;
  if (kind.fp8 && !check_scale_shapes(kind, call)) return;
  if (call.m == 0 || !check_memory(kind, call)) return;
  void* stream = nullptr;
  if (!current_stream(call.a.view, &stream)) return;
  const ProblemKey key = {kind.fp8 ? CUBINET_FP8 : CUBINET_BF16,
                          kind.masked() ? CUBINET_MASKED : CUBINET_CONTIGUOUS,
                          call.a.view.device,
                          call.n,
                          call.k,
                          call.groups};
  cubinet_gemm* gemm = find_gemm(key);
  if (gemm == nullptr) [[unlikely]] {
    gemm = prepare_gemm(key, stream);
    if (gemm == nullptr) return;
  }
  kind.masked() ? launch_masked(kind, call, gemm, stream) : launch_contiguous(kind, call, gemm, stream);
}

template <Form form, bool fp8, Signature& signature>
PyObject* call_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  try {
    Values values;
    Call call;
    if (!parse(signature, arguments, count, keywords, values)) return nullptr;
    run({form, fp8}, values, call);
  } catch (const std::bad_alloc&) {  // an exception that reaches Python's C code ends the process
    return PyErr_NoMemory();
  } catch (const std::exception& thrown) {
    PyErr_SetString(PyExc_RuntimeError, thrown.what());
  }
  if (PyErr_Occurred() != nullptr) [[unlikely]]
    return nullptr;
  Py_RETURN_NONE;
}

template <Form form, bool fp8, Signature& signature>
PyMethodDef method(const char* name, const char* documentation) {
  _PyCFunctionFastWithKeywords function = call_function<form, fp8, signature>;
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL | METH_KEYWORDS,
          documentation};
}

PyMethodDef methods[] = {
    method<Form::contiguous, false, bf16_contiguous_signature>(
        "m_grouped_bf16_gemm_nt_contiguous",
        "m_grouped_bf16_gemm_nt_contiguous($module, a, b, d, m_indices, compiled_dims='nk', use_psum_layout=False,\n"
        "                                  ensure_zero_padding=False, expected_m_for_psum_layout=None)\n--\n\n"
        "d[i] = a[i] @ b[m_indices[i]].T for each row i with m_indices[i] != -1; other rows of d are not written.\n\n"
        "a (M, K) and b (groups, N, K) bfloat16, d (M, N) bfloat16, m_indices (M,) int32, all contiguous on one CUDA\n"
        "device. Groups start at multiples of 128 rows. K is a multiple of 64, N of 8. Also named: lhs, rhs, out,\n"
        "grouped_layout. Raises ValueError, TypeError, cubinet.Error."),
    method<Form::masked, false, bf16_masked_signature>(
        "m_grouped_bf16_gemm_nt_masked",
        "m_grouped_bf16_gemm_nt_masked($module, a, b, d, masked_m, expected_m, compiled_dims='nk',\n"
        "                              enable_overlap=False, signal=None)\n--\n\n"
        "d[g, :masked_m[g]] = a[g, :masked_m[g]] @ b[g].T for each group g; other rows of d are not written.\n\n"
        "a (groups, M, K), b (groups, N, K) and d (groups, M, N) bfloat16, masked_m (groups,) int32, all contiguous "
        "on\n"
        "one CUDA device. expected_m is a hint that tunes and never changes the result. K is a multiple of 64, N of "
        "8.\n"
        "Raises ValueError, TypeError, cubinet.Error."),
    method<Form::contiguous, true, fp8_contiguous_signature>(
        "m_grouped_fp8_gemm_nt_contiguous",
        "m_grouped_fp8_gemm_nt_contiguous($module, a, b, d, m_indices, recipe=None, recipe_a=None, recipe_b=None,\n"
        "                                 compiled_dims='nk', disable_ue8m0_cast=False, use_psum_layout=False,\n"
        "                                 ensure_zero_padding=False, expected_m_for_psum_layout=None)\n--\n\n"
        "The FP8 form of m_grouped_bf16_gemm_nt_contiguous: a and b are pairs (tensor, scales).\n\n"
        "a: float8_e4m3fn (M, K) with float32 scales (M, K / 128), row-major, or column-major as\n"
        "get_mn_major_tma_aligned_tensor makes them. b: float8_e4m3fn (groups, N, K) with float32 scales\n"
        "(groups, ceil(N / 128), K / 128), contiguous. d (M, N) bfloat16, m_indices (M,) int32. K is a multiple of "
        "128.\n"
        "Raises ValueError, TypeError, cubinet.Error."),
    method<Form::masked, true, fp8_masked_signature>(
        "m_grouped_fp8_gemm_nt_masked",
        "m_grouped_fp8_gemm_nt_masked($module, a, b, d, masked_m, expected_m, recipe=None, recipe_a=None,\n"
        "                             recipe_b=None, compiled_dims='nk', disable_ue8m0_cast=False,\n"
        "                             enable_overlap=False, max_block_n=256, signal=None)\n--\n\n"
        "The FP8 form of m_grouped_bf16_gemm_nt_masked: a and b are pairs (tensor, scales).\n\n"
        "a: float8_e4m3fn (groups, M, K) with float32 scales (groups, M, K / 128) in either layout. b: float8_e4m3fn\n"
        "(groups, N, K) with float32 scales (groups, ceil(N / 128), K / 128). d (groups, M, N) bfloat16, masked_m\n"
        "(groups,) int32. Raises ValueError, TypeError, cubinet.Error."),
    method<Form::dense, false, bf16_dense_signature>(
        "bf16_gemm_nt",
        "bf16_gemm_nt($module, a, b, d, c=None, compiled_dims='nk', alpha=None)\n--\n\n"
        "d = a @ b.T: one group over all rows. a (M, K), b (N, K) and d (M, N) bfloat16, contiguous on one CUDA "
        "device.\n"
        "Raises ValueError, TypeError, cubinet.Error."),
    method<Form::dense, true, fp8_dense_signature>(
        "fp8_gemm_nt",
        "fp8_gemm_nt($module, a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, compiled_dims='nk',\n"
        "            disable_ue8m0_cast=False, alpha=None)\n--\n\n"
        "The FP8 form of bf16_gemm_nt: a and b are pairs (tensor, scales), the scales of a (M, K / 128) in either\n"
        "layout, those of b (ceil(N / 128), K / 128). Raises ValueError, TypeError, cubinet.Error."),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void set_num_sms(std::int32_t num_sms) { most_sms = num_sms; }

bool add_calls(PyObject* module) {
  for (Signature* signature : {&bf16_contiguous_signature, &bf16_masked_signature, &fp8_contiguous_signature,
                               &fp8_masked_signature, &bf16_dense_signature, &fp8_dense_signature}) {
    if (!intern_names(*signature)) return false;
  }
  return PyModule_AddFunctions(module, methods) == 0;
}

}  // namespace cubinet::python
