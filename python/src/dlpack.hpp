// The structs of DLPack 1.3's C exchange API that a consumer needs, declared after the specification
// (https://dmlc.github.io/dlpack/latest/, "DLPackExchangeAPI"). A framework's tensor type has one table of these
// functions, in PyTorch as the type's attribute __dlpack_c_exchange_api__.
#pragma once

#include <cstdint>

namespace cubinet::python::dlpack {

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

struct Device {
  std::int32_t type;
  std::int32_t id;
};
constexpr std::int32_t kCpu = 1;
constexpr std::int32_t kCuda = 2;

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
constexpr std::uint8_t kInt = 0;
constexpr std::uint8_t kUInt = 1;
constexpr std::uint8_t kFloat = 2;
constexpr std::uint8_t kBfloat = 4;
constexpr std::uint8_t kFloat8E4m3fn = 10;

struct Tensor {
  void* data;
  Device device;
  std::int32_t rank;
  DataType type;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements
  std::uint64_t byte_offset;
};

struct ManagedTensor {
  Version version;
  void* context;
  void (*deleter)(ManagedTensor* self);
  std::uint64_t flags;
  Tensor tensor;
};

struct Header {
  Version version;
  Header* previous;  // a table of an older major version, or null
};

struct ExchangeApi {
  Header header;
  int (*allocate)(Tensor* prototype, ManagedTensor** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*managed_from_object)(void* object, ManagedTensor** out);
  int (*managed_to_object)(ManagedTensor* tensor, void** out);
  int (*view_of_object)(void* object, Tensor* out);  // may be null; owns nothing, valid until control returns to Python
  int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** out);
};

constexpr std::uint32_t kMajor = 1;

}  // namespace cubinet::python::dlpack
