#include "jit/loader.hpp"

#include <utility>

#include "jit/driver_limit.hpp"

namespace cubinet::jit {
namespace {

std::string capability_of(const DeviceInfo& device) {
  return std::to_string(device.compute_major) + "." + std::to_string(device.compute_minor);
}

std::string title_of(const DeviceInfo& device) {
  return "device " + std::to_string(device.ordinal) + " (" + device.name + ", compute capability " +
         capability_of(device) + ")";
}

}  // namespace

Expected<std::string> architecture_for(const DeviceInfo& device) {
  if (device.compute_major == 9 && device.compute_minor == 0) return std::string("sm_90a");
  return fail(ErrorCode::wrong_device,
              title_of(device) + " runs none of the supported kernels: sm_90a needs compute capability 9.0");
}

Expected<void> check_device(const std::string& architecture, const DeviceInfo& device) {
  const auto runs = architecture_for(device);
  if (!runs) return propagate(runs);
  if (*runs == architecture) return {};
  return fail(ErrorCode::wrong_device,
              "a kernel for " + architecture + " does not run on " + title_of(device) + ", which takes " + *runs);
}

Expected<LoadedModule> LoadedModule::load(std::shared_ptr<const DeviceContext> device, std::string_view cubin,
                                          const std::string& architecture) {
  if (auto fits = check_device(architecture, device->info()); !fits) return propagate(fits);
  const CurrentContext current(*device);
  if (auto entered = current.status(); !entered) return propagate(entered);
  const Driver& driver = device->driver();
  CUlibrary library = nullptr;
  const CUresult result = driver.cuLibraryLoadData(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (auto loaded = driver.check(result, "cuLibraryLoadData of a kernel"); !loaded) {
    // Each driver has a code of its own for code that is newer than it is.
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
  // With lazy loading the driver would copy the code to the device at the first launch.
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

Expected<LoadedKernel> load_kernel(std::shared_ptr<const DeviceContext> device, const KernelSpec& spec,
                                   std::string_view cubin) {
  const CurrentContext current(*device);
  if (auto entered = current.status(); !entered) return propagate(entered);
  auto module = LoadedModule::load(device, cubin, spec.architecture);
  if (!module) return propagate(module);
  const auto function = module->function(spec.family);
  if (!function) return propagate(function);
  const LaunchableKernel kernel{*function, spec.config};
  if (auto ready = prepare_for_launch(device->driver(), kernel); !ready) return propagate(ready);
  return LoadedKernel{std::move(*module), kernel};
}

}  // namespace cubinet::jit
