// Opens the compiler, the cabinet and the device for GPU tests and benchmarks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/cabinet.hpp"
#include "jit/compiler.hpp"
#include "jit/driver.hpp"
#include "util/expected.hpp"

namespace cubinet::test {

struct GpuSession {
  std::shared_ptr<const jit::DeviceContext> device;  // never null
  std::unique_ptr<jit::Compiler> compiler;           // never null; fails every compilation if NVRTC is missing
  std::optional<cache::Cabinet> cabinet;

  [[nodiscard]] cache::Cabinet* cabinet_or_null() { return cabinet ? &*cabinet : nullptr; }

  // An empty `cache_root` means no cabinet. Errors: driver_missing, cache_unusable.
  static Expected<GpuSession> open(const std::string& cache_root, const std::vector<std::string>& nvrtc_folders,
                                   int ordinal = 0);
};

}  // namespace cubinet::test
