// What a call has to know of a tensor, read from a Python object in one of two ways: the DLPack exchange API of its
// type, which costs some 20 ns and makes no Python object, or else attributes as PyTorch's tensors have them.
#pragma once

#include <Python.h>

#include <cstdint>

#include "python/src/dlpack.hpp"

namespace cubinet::python {

enum class ElementType : std::uint8_t { bf16, fp8, fp32, int32, other };

// Of the attributes' way.
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
  std::int64_t extents[2 * kMaxRank];  // where shape and strides lie when there is no API
};

// Fills `view` with what `object`, the argument `name`, is. It owns nothing and is valid until Python code runs. False
// with TypeError set where it is no tensor with memory, ValueError where its device is none that there can be, or with
// what the tensor's own code raised.
bool read_tensor(PyObject* object, const char* name, TensorView& view);

// The stream that the framework of `view` works on at present. False with an exception set.
bool current_stream(const TensorView& view, void** stream);

// Device memory for as long as a launch needs it, from the framework's allocator for the current stream, which makes a
// later use of the memory wait for the launch, also inside a capture.
class Workspace {
 public:
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace();

  // False with an exception set. `view` tells framework and device.
  bool allocate(const TensorView& view, std::int64_t bytes);
  [[nodiscard]] void* data() const { return data_; }

 private:
  bool allocate_by_name(std::int32_t device, std::int64_t bytes);

  void* data_ = nullptr;
  dlpack::ManagedTensor* managed_ = nullptr;
  PyObject* object_ = nullptr;
};

// "torch.bfloat16", or the type's name where the object has no dtype: for messages. A new reference; never null.
PyObject* describe_type(PyObject* object);

}  // namespace cubinet::python
