// What a call must know of a tensor. It is read from the Python object in one of two ways: by the DLPack exchange API
// of its type, which takes about 20 ns and makes no Python object, or else by the attributes that PyTorch's tensors
// have.
#pragma once

#include <Python.h>

#include <cstdint>

#include "python/src/dlpack.hpp"

namespace cubinet::python {

enum class ElementType : std::uint8_t { bf16, fp8, fp32, int32, other };

// Limits of tensors that are read by attributes.
constexpr std::int32_t kMaxRank = 8;
constexpr std::int32_t kLastDevice = 1023;

struct TensorView {
  void* data;
  const std::int64_t* shape;
  const std::int64_t* strides;  // in elements
  std::int32_t rank;
  ElementType type;
  bool on_cuda;
  std::int32_t device;                 // ordinal
  const dlpack::ExchangeApi* api;      // null: read by attributes
  std::int64_t extents[2 * kMaxRank];  // memory for shape and strides if there is no API
};

// Fills in `view` from `object`, the argument `name`. The view owns nothing and is valid until Python code runs. False
// with an exception set: TypeError if it is not a tensor with memory, ValueError if its device cannot exist, or what
// the tensor's own code raised.
bool read_tensor(PyObject* object, const char* name, TensorView& view);

// The current stream of the view's framework on the view's device. False with an exception set.
bool current_stream(const TensorView& view, void** stream);

// Device memory for one launch, from the framework's allocator for the current stream: a later use of the memory comes
// after the launch in stream order, also inside a capture. So it may be freed once the launch is on the stream.
class Workspace {
 public:
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace();

  // Allocates `bytes` with the view's framework on the view's device. False with an exception set.
  bool allocate(const TensorView& view, std::int64_t bytes);
  [[nodiscard]] void* data() const { return data_; }

 private:
  bool allocate_by_name(std::int32_t device, std::int64_t bytes);

  void* data_ = nullptr;
  dlpack::ManagedTensor* managed_ = nullptr;
  PyObject* object_ = nullptr;
};

// For messages: "torch.bfloat16", or the name of the object's type if it has no dtype. A new reference; never null.
PyObject* describe_type(PyObject* object);

}  // namespace cubinet::python
