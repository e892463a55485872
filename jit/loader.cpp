#include "jit/loader.hpp"

#include <utility>

#include "jit/driver_limit.hpp"
#include "jit/target.hpp"

namespace cubinet::jit {
Expected<LoadedModule> LoadedModule::load(std::shared_ptr<const DeviceContext> device, std::string_view cubin,
                                          const std::string& architecture) {
  if (auto fits = check_device(architecture, device->info()); !fits) return propagate(fits);
  const CurrentContext current(*device);
  if (auto entered = current.status(); !entered) return propagate(entered);
  const Driver& driver = device->driver();
  CUlibrary library = nullptr;
  const CUresult result = driver.cuLibraryLoadData(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (auto loaded = driver.check(result, "cuLibraryLoadData of a kernel"); !loaded) {
    // Drivers report cubins that are too new for them with different error codes, so compare the versions instead.
    if (auto takes = check_driver_limit(driver, compiler_of_cubin(cubin)); !takes) {
      takes.error().detail = std::move(loaded.error().message);
      return propagate(takes);
    }
    return propagate(loaded);
  }
  return LoadedModule(std::move(device), library);
}

LoadedModule::LoadedModule(std::shared_ptr<const DeviceContext> device, CUlibrary library) noexcept
    : device_(std::move(device)), library_(library) {}

LoadedModule::LoadedModule(LoadedModule&& other) noexcept
    : device_(std::move(other.device_)), library_(std::exchange(other.library_, nullptr)) {}

LoadedModule& LoadedModule::operator=(LoadedModule&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(library_, other.library_);
  return *this;
}

LoadedModule::~LoadedModule() {
  if (library_ == nullptr) return;
  const CurrentContext current(*device_);
  device_->driver().cuLibraryUnload(library_);
}

Expected<CUfunction> LoadedModule::function(const std::string& name) const {
  const CurrentContext current(*device_);
  if (auto entered = current.status(); !entered) return propagate(entered);
  const Driver& driver = device_->driver();
  CUkernel kernel = nullptr;
  auto done = driver.check(driver.cuLibraryGetKernel(&kernel, library_, name.c_str()), "cuLibraryGetKernel of " + name);
  if (!done) return propagate(done);
  CUfunction function = nullptr;
  done = driver.check(driver.cuKernelGetFunction(&function, kernel), "cuKernelGetFunction of " + name);
  if (!done) return propagate(done);
  // Load now: with lazy loading the driver would copy the code to the device at the first launch.
  if (driver.cuFuncLoad != nullptr) {
    done = driver.check(driver.cuFuncLoad(function), "cuFuncLoad of " + name);
    if (!done) return propagate(done);
  }
  return function;
}

Expected<void> LoadedModule::functions(std::span<const EntryPoint> entries) const {
  for (const EntryPoint& entry : entries) {
    const auto found = function(entry.name);
    if (!found) return propagate(found);
    *entry.function = *found;
  }
  return {};
}

}  // namespace cubinet::jit
