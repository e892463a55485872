// Loads a cubin onto a device and finds its entry points.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "jit/driver.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// The name of an entry point, and where to store its function.
struct EntryPoint {
  CUfunction* function;
  const char* name;
};

// A cubin in device memory. Owning and movable. The destructor unloads it; none of its kernels may be running then.
class LoadedModule {
 public:
  // Loads a cubin. `cubin` is not needed after the call. Error: wrong_device if the cubin is for another architecture,
  // which is checked before the driver is called, or if the driver rejects it because it comes from a newer CUDA
  // version; the detail then holds the message of the driver.
  static Expected<LoadedModule> load(std::shared_ptr<const DeviceContext> device, std::string_view cubin,
                                     const std::string& architecture);
  LoadedModule(LoadedModule&& other) noexcept;
  LoadedModule& operator=(LoadedModule&& other) noexcept;
  ~LoadedModule();

  [[nodiscard]] const DeviceContext& device() const noexcept { return *device_; }

  // The entry point `name`, already resident on the device, so that its first launch loads nothing and may be captured
  // into a graph. Valid as long as the module.
  [[nodiscard]] Expected<CUfunction> function(const std::string& name) const;

  // The same for several entry points. Stops with an error at the first that is missing.
  [[nodiscard]] Expected<void> functions(std::span<const EntryPoint> entries) const;

 private:
  LoadedModule(std::shared_ptr<const DeviceContext> device, CUlibrary library) noexcept;
  std::shared_ptr<const DeviceContext> device_;
  CUlibrary library_ = nullptr;
};

}  // namespace cubinet::jit
