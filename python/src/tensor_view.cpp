#include "python/src/tensor_view.hpp"

#include <array>
#include <cstring>
#include <string>

#include "python/src/arguments.hpp"
#include "python/src/python_api.hpp"

namespace cubinet::python {
namespace {

// The exchange API of each type that was seen, by the type's address. A reference to the type is held, so that the
// address is not used again. A process has few such types: Tensor, Parameter, a framework's subclasses. Guarded by the
// GIL.
struct KnownType {
  PyTypeObject* type = nullptr;
  const dlpack::ExchangeApi* api = nullptr;
};
std::array<KnownType, 16> known_types;

const dlpack::ExchangeApi* usable(const dlpack::ExchangeApi* api) {
  while (api != nullptr && api->header.version.major != dlpack::kMajor)
    api = reinterpret_cast<const dlpack::ExchangeApi*>(api->header.previous);
  return api != nullptr && api->view_of_object != nullptr && api->current_stream != nullptr ? api : nullptr;
}

// PyTorch has the first name from 2.10 on. torch-c-dlpack-ext adds the second one to older versions; its first releases
// store a number in place of a capsule.
const dlpack::ExchangeApi* look_up(PyTypeObject* type) {
  for (const char* name : {"__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__"}) {
    const Reference value(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), name));
    void* pointer = nullptr;
    if (value && PyCapsule_IsValid(value.get(), "dlpack_exchange_api")) {
      pointer = PyCapsule_GetPointer(value.get(), "dlpack_exchange_api");
    } else if (value && PyLong_Check(value.get())) {
      pointer = PyLong_AsVoidPtr(value.get());
    }
    PyErr_Clear();
    if (const auto* api = usable(static_cast<const dlpack::ExchangeApi*>(pointer))) return api;
  }
  return nullptr;
}

const dlpack::ExchangeApi* remember(PyTypeObject* type) {
  const dlpack::ExchangeApi* api = look_up(type);
  if (api == nullptr) return nullptr;  // not stored: the API may be added to the type later
  for (KnownType& known : known_types) {
    if (known.type != nullptr) continue;
    Py_INCREF(type);
    known = {type, api};
    break;
  }
  return api;
}

const dlpack::ExchangeApi* api_of(PyTypeObject* type) {
  for (const KnownType& known : known_types) {
    if (known.type == type) return known.api;
    if (known.type == nullptr) break;
  }
  return remember(type);
}

ElementType element_type(dlpack::DataType type) {
  if (type.lanes != 1) return ElementType::other;
  switch (type.code << 8 | type.bits) {
    case dlpack::kBfloat << 8 | 16:
      return ElementType::bf16;
    case dlpack::kFloat8E4m3fn << 8 | 8:
      return ElementType::fp8;
    case dlpack::kFloat << 8 | 32:
      return ElementType::fp32;
    case dlpack::kInt << 8 | 32:
      return ElementType::int32;
    default:
      return ElementType::other;
  }
}

bool read_by_api(PyObject* object, const dlpack::ExchangeApi* api, TensorView& view) {
  dlpack::Tensor tensor;
  if (api->view_of_object(object, &tensor) != 0) return false;
  view.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  view.shape = tensor.shape;
  view.strides = tensor.strides;
  view.rank = tensor.rank;
  view.type = element_type(tensor.type);
  view.on_cuda = tensor.device.type == dlpack::kCuda;
  view.device = tensor.device.id;
  view.api = api;
  return true;
}

ElementType element_type(PyObject* dtype) {
  const Reference text(PyObject_Str(dtype));
  const char* name = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (name == nullptr) {
    PyErr_Clear();
    return ElementType::other;
  }
  if (std::strcmp(name, "torch.bfloat16") == 0) return ElementType::bf16;
  if (std::strcmp(name, "torch.float8_e4m3fn") == 0) return ElementType::fp8;
  if (std::strcmp(name, "torch.float32") == 0) return ElementType::fp32;
  if (std::strcmp(name, "torch.int32") == 0) return ElementType::int32;
  return ElementType::other;
}

// The integers of a sequence; at most kMaxRank are kept. -1 with an exception set.
Py_ssize_t read_extents(PyObject* sequence, std::int64_t* extents) {
  const Reference items(sequence != nullptr ? PySequence_Fast(sequence, "not a sequence") : nullptr);
  if (!items) return -1;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.get());
  for (Py_ssize_t i = 0; i < count && i < kMaxRank; ++i) {
    extents[i] = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(items.get(), i));
    if (extents[i] == -1 && PyErr_Occurred() != nullptr) return -1;
  }
  return count;
}

bool read_device_index(PyObject* index, const char* name, std::int32_t& device) {
  int overflow = 0;
  const long number = PyLong_AsLongAndOverflow(index, &overflow);
  if (number == -1 && PyErr_Occurred() != nullptr) return false;
  device = static_cast<std::int32_t>(number);
  if (overflow == 0 && number >= 0 && number <= kLastDevice) return true;
  return refuse_value(name, ("a device index from 0 to " + std::to_string(kLastDevice)).c_str(), index);
}

bool read_device(PyObject* object, const char* name, TensorView& view) {
  const Reference device(PyObject_GetAttrString(object, "device"));
  const Reference type(device ? PyObject_GetAttrString(device.get(), "type") : nullptr);
  const char* kind = type ? PyUnicode_AsUTF8(type.get()) : nullptr;
  if (kind == nullptr) return false;
  view.on_cuda = std::strcmp(kind, "cuda") == 0;
  view.device = 0;
  if (!view.on_cuda) return true;
  const Reference index(PyObject_GetAttrString(device.get(), "index"));
  if (!index) return false;
  return index.get() == Py_None || read_device_index(index.get(), name, view.device);
}

bool read_by_attributes(PyObject* object, const char* name, TensorView& view) {
  const Reference pointer(PyObject_CallMethod(object, "data_ptr", nullptr));
  if (!pointer) return false;
  const Reference shape(PyObject_GetAttrString(object, "shape"));
  const Py_ssize_t rank = read_extents(shape.get(), view.extents);
  if (rank < 0) return false;
  const Reference strides(PyObject_CallMethod(object, "stride", nullptr));
  if (read_extents(strides.get(), view.extents + kMaxRank) != rank) return false;
  const Reference dtype(PyObject_GetAttrString(object, "dtype"));
  if (!dtype || !read_device(object, name, view)) return false;
  view.data = PyLong_AsVoidPtr(pointer.get());
  view.shape = view.extents;
  view.strides = view.extents + kMaxRank;
  view.rank = static_cast<std::int32_t>(rank);
  view.type = element_type(dtype.get());
  view.api = nullptr;
  return PyErr_Occurred() == nullptr;
}

// An attribute of one of PyTorch's modules. Null without an exception if the module has not been imported.
PyObject* torch_attribute(const char* module, const char* name) {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* found = PyDict_GetItemString(modules, module);
  return found != nullptr ? PyObject_GetAttrString(found, name) : nullptr;
}

// The first line of an exception's text; PyTorch writes its own trace below it. Null with an exception set.
PyObject* first_line(PyObject* exception) {
  const Reference text(PyObject_Str(exception));
  if (!text) return nullptr;
  const Py_ssize_t length = PyUnicode_GET_LENGTH(text.get());
  const Py_ssize_t end = PyUnicode_FindChar(text.get(), '\n', 0, length, 1);
  return PyUnicode_Substring(text.get(), 0, end < 0 ? length : end);
}

// For tensors without plain memory (meta, sparse and quantized tensors, tensors of a tracer): replaces the exception
// that the tensor's type raised by a TypeError that names the argument, with that exception as its cause.
bool refuse_with_cause(PyObject* object, const char* name) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const Reference kept_type(type), cause(value), kept_trace(trace);
  const Reference why(first_line(cause ? cause.get() : Py_None));
  if (!why) return false;
  PyErr_Format(PyExc_TypeError, "%s: expected a dense tensor with memory on a device, got %s: %U", name,
               Py_TYPE(object)->tp_name, why.get());
  if (!cause) return false;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Py_INCREF(cause.get());
  PyException_SetCause(value, cause.get());  // takes the reference
  PyErr_Restore(type, value, trace);
  return false;
}

void set_error(void*, const char*, const char* message) { PyErr_SetString(PyExc_MemoryError, message); }

}  // namespace

bool read_tensor(PyObject* object, const char* name, TensorView& view) {
  if (const dlpack::ExchangeApi* api = api_of(Py_TYPE(object))) {
    if (read_by_api(object, api, view)) [[likely]]
      return true;
    // Other exceptions, such as MemoryError and KeyboardInterrupt, do not say that the tensor is of a wrong kind.
    const bool of_its_kind = PyErr_ExceptionMatches(PyExc_RuntimeError) || PyErr_ExceptionMatches(PyExc_BufferError) ||
                             PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError);
    return of_its_kind && refuse_with_cause(object, name);
  }
  if (read_by_attributes(object, name, view)) return true;
  // Any other exception than for an attribute that is missing or of a wrong type is passed on.
  if (PyErr_Occurred() != nullptr && !PyErr_ExceptionMatches(PyExc_AttributeError) &&
      !PyErr_ExceptionMatches(PyExc_TypeError)) {
    return false;
  }
  PyErr_Clear();
  PyErr_Format(PyExc_TypeError, "%s: expected a tensor, got %s", name, Py_TYPE(object)->tp_name);
  return false;
}

bool current_stream(const TensorView& view, void** stream) {
  if (view.api != nullptr) return view.api->current_stream(dlpack::kCuda, view.device, stream) == 0;
  *stream = nullptr;
  const Reference getter(torch_attribute("torch._C", "_cuda_getCurrentRawStream"));
  if (!getter) {
    PyErr_Clear();  // without PyTorch's CUDA part there is only the default stream
    return true;
  }
  const Reference number(PyObject_CallFunction(getter.get(), "i", static_cast<int>(view.device)));
  if (!number) return false;
  *stream = PyLong_AsVoidPtr(number.get());
  return PyErr_Occurred() == nullptr;
}

Workspace::~Workspace() {
  if (managed_ != nullptr && managed_->deleter != nullptr) managed_->deleter(managed_);
  Py_XDECREF(object_);
}

bool Workspace::allocate(const TensorView& view, std::int64_t bytes) {
  if (view.api == nullptr || view.api->allocate == nullptr) return allocate_by_name(view.device, bytes);
  dlpack::Tensor prototype{};
  prototype.device = {dlpack::kCuda, view.device};
  prototype.rank = 1;
  prototype.type = {dlpack::kUInt, 8, 1};
  prototype.shape = &bytes;
  if (view.api->allocate(&prototype, &managed_, nullptr, set_error) != 0) {
    managed_ = nullptr;
    if (PyErr_Occurred() == nullptr) PyErr_NoMemory();
    return false;
  }
  data_ = static_cast<char*>(managed_->tensor.data) + managed_->tensor.byte_offset;
  return true;
}

bool Workspace::allocate_by_name(std::int32_t device, std::int64_t bytes) {
  const Reference module(PyImport_ImportModule("cubinet.deep_gemm"));
  if (!module) return false;
  object_ =
      PyObject_CallMethod(module.get(), "_workspace", "iL", static_cast<int>(device), static_cast<long long>(bytes));
  TensorView view;
  if (object_ == nullptr || !read_tensor(object_, "workspace", view)) return false;
  data_ = view.data;
  return true;
}

PyObject* describe_type(PyObject* object) {
  const Reference dtype(PyObject_GetAttrString(object, "dtype"));
  PyObject* text = dtype ? PyObject_Str(dtype.get()) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    text = PyUnicode_FromString(Py_TYPE(object)->tp_name);
  }
  return text;
}

}  // namespace cubinet::python
