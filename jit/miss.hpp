// What happens when a launch or a preparation asks for a kernel that is not there.
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

  // The kernel that a launch for `m` on `stream` takes, where the table has none for the row. The device's context is
  // current. May wait for a compilation. Thread-safe. Errors: capturing, not_prepared, and those of making a kernel.
  virtual Expected<const GemmKernel*> on_miss(const std::shared_ptr<KernelTable>& table, std::size_t row,
                                                    std::int64_t m, CUstream stream) = 0;
};

// The command that makes the kernel that `m` selects for the problem. `cache_root` may be empty.
std::string warm_command(const Problem& problem, MRange range, const std::string& architecture,
                         const std::string& cache_root);

// not_prepared: names the kernel, its key and `command`.
Error missing_kernel(const KernelSpec& spec, const std::string& command);

}  // namespace cubinet::jit
