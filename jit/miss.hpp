// What happens when a launch or a preparation needs a kernel that is not loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "jit/driver.hpp"
#include "jit/kernel_spec.hpp"
#include "jit/kernel_table.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

class MissHandler {
 public:
  virtual ~MissHandler() = default;

  // Returns the kernel for a launch for `m` on `stream`, if the table has none for the row. May wait for a compilation.
  // Thread-safe. Precondition: the device's context is current. Errors: capturing, not_prepared, and those of compiling
  // and loading a kernel.
  virtual Expected<const GemmKernel*> on_miss(const std::shared_ptr<KernelTable>& table, std::size_t row,
                                              std::int64_t m, CUstream stream) = 0;
};

// The command that warms the kernels of the problem over a range of M. `cache_root` may be empty.
std::string warm_command(const Problem& problem, MRange range, const std::string& architecture,
                         const std::string& cache_root);

// not_prepared: names the kernel, its key and `command`.
Error missing_kernel(const KernelSpec& spec, const std::string& command);

}  // namespace cubinet::jit
