// A cubin in a device's memory, and its entry points.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "jit/driver.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// An entry point to be looked up, and where to put it.
struct EntryPoint {
  CUfunction* function;
  const char* name;
};

// A cubin in a device's memory. Owning and movable; unloads it, so nothing of it may be running by then.
class LoadedModule {
 public:
  // Refuses a cubin for another architecture before the driver sees it. `cubin` is not needed afterwards. One that the
  // driver does not take since a newer CUDA made it is wrong_device, too, with the driver's own words as the detail.
  static Expected<LoadedModule> load(std::shared_ptr<const DeviceContext> device, std::string_view cubin,
                                     const std::string& architecture);
  LoadedModule(LoadedModule&& other) noexcept;
  LoadedModule& operator=(LoadedModule&& other) noexcept;
  ~LoadedModule();

  [[nodiscard]] const DeviceContext& device() const noexcept { return *device_; }

  // The entry point `name`, resident on the device, so that its first launch loads nothing (and may be captured into a
  // graph). Lives as long as the module.
  [[nodiscard]] Expected<CUfunction> function(const std::string& name) const;

  // The same for several. The first that is missing ends it.
  [[nodiscard]] Expected<void> functions(std::span<const EntryPoint> entries) const;

 private:
  LoadedModule(std::shared_ptr<const DeviceContext> device, CUlibrary library) noexcept;
  std::shared_ptr<const DeviceContext> device_;
  CUlibrary library_ = nullptr;
};

}  // namespace cubinet::jit
