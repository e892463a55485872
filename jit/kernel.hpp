// Kernels on a device, ready to be launched.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "cubinet/problem.hpp"
#include "jit/families/family.hpp"
#include "jit/gemm_arguments.hpp"
#include "jit/loader.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// Owns its module and keeps the device alive. Immutable, hence thread-safe.
class Kernel {
 public:
  Kernel(KernelSpec spec, LoadedModule module) noexcept : spec_(std::move(spec)), module_(std::move(module)) {}
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  [[nodiscard]] const KernelSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] const DeviceContext& device() const noexcept { return module_.device(); }

 protected:
  [[nodiscard]] const LoadedModule& module() const noexcept { return module_; }

 private:
  KernelSpec spec_;
  LoadedModule module_;
};

// A kernel of a GemmFamily.
class GemmKernel : public Kernel {
 public:
  using Kernel::Kernel;

  // Puts one grouped GEMM on `stream` and returns. Takes no lock and allocates nothing. Preconditions: the family's
  // can_run() holds for the problem; the arguments have been checked, and their a_scales are column-major; rows > 0;
  // the device's context is current. Error: driver_failed.
  [[nodiscard]] virtual Expected<void> launch(const Problem& problem, const GemmArguments& arguments,
                                              CUstream stream) const = 0;
};

// Loads a cubin of `spec` as the kind of kernel that its family makes. Errors: those of Family::load.
template <class K>
Expected<std::shared_ptr<const K>> load_kernel(std::shared_ptr<const DeviceContext> device, const KernelSpec& spec,
                                               std::string_view cubin) {
  auto kernel = spec.family->load(std::move(device), spec, cubin);
  if (!kernel) return propagate(kernel);
  return std::dynamic_pointer_cast<const K>(std::move(*kernel));
}

}  // namespace cubinet::jit
