// From a cubin to a function on a device.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "jit/driver.hpp"
#include "jit/kernel_spec.hpp"
#include "jit/sm90/launch.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// The architecture whose kernels the device runs, or wrong_device, which names the device.
Expected<std::string> architecture_for(const DeviceInfo& device);

// Whether code made for `architecture` runs on the device; wrong_device otherwise. Exact: a device of compute
// capability 9.0 takes sm_90a and nothing else.
Expected<void> check_device(const std::string& architecture, const DeviceInfo& device);

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

// A specialization on a device, ready for launches. Owns its module.
struct LoadedKernel {
  LoadedModule module;
  LaunchableKernel launchable;
};

// Loads the cubin of `spec` and makes its entry point ready to be launched. Errors: wrong_device, driver_failed.
Expected<LoadedKernel> load_kernel(std::shared_ptr<const DeviceContext> device, const KernelSpec& spec,
                                   std::string_view cubin);

}  // namespace cubinet::jit
