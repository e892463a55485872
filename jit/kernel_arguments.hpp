// The arguments of a kernel launch, typed by the signature in a header that the kernel shares (templates/**/shared).
#pragma once

#include <array>
#include <cstddef>
#include <tuple>

#include "jit/driver.hpp"

namespace cubinet::jit {

// A device address, for a parameter of any pointer type.
class DevicePointer {
 public:
  explicit DevicePointer(CUdeviceptr address) : address_(address) {}
  template <class T>
  operator T*() const {  // NOLINT(google-explicit-constructor): the parameter's type says which pointer it is
    return reinterpret_cast<T*>(address_);
  }

 private:
  CUdeviceptr address_;
};

// Values of a kernel's parameters, and their addresses as the driver takes them. `Signature` is the kernel's type, such
// as void(const float*, long long). Each value is converted to its parameter's type.
template <class Signature>
class KernelArguments;

template <class... Parameters>
class KernelArguments<void(Parameters...)> {
 public:
  explicit KernelArguments(Parameters... values) : values_(values...) {
    std::apply([&](auto&... value) { addresses_ = {static_cast<void*>(&value)...}; }, values_);
  }
  KernelArguments(const KernelArguments&) = delete;  // the addresses point into this object
  KernelArguments& operator=(const KernelArguments&) = delete;

  // Valid as long as this object.
  void** addresses() { return addresses_.data(); }

 private:
  std::tuple<Parameters...> values_;
  std::array<void*, sizeof...(Parameters)> addresses_{};
};

}  // namespace cubinet::jit
