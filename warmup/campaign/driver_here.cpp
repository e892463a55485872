#include "warmup/campaign/driver_here.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "jit/accepted_compilers.hpp"
#include "jit/driver.hpp"
#include "warmup/campaign/device_identity.hpp"

namespace cubinet::warmup {
namespace {

// 580 of "580.95.05".
int leading_number(const std::string& text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// NVIDIA, CUDA Compatibility, "Minor Version Compatibility", table 1.
int cuda_major_of_branch(int branch) {
  if (branch >= 580) return 13;
  if (branch >= 525) return 12;
  return branch >= 450 ? 11 : 0;
}

int newest_accepted_major() {
  int newest = 0;
  for (const std::string& version : jit::accepted_compilers()) newest = std::max(newest, leading_number(version));
  return newest;
}

}  // namespace

int driver_version() {
  const auto driver = jit::Driver::open();
  return driver ? (*driver)->version() : 0;
}

int driver_limit(const std::optional<Executed>& module, const std::function<int()>& ask) {
  if (!module) return 0;
  const int major = cuda_major_of_branch(leading_number(module->driver));
  return major >= newest_accepted_major() ? major * 1000 : ask();
}

int driver_here() { return driver_limit(identity_from_module(), driver_version); }

}  // namespace cubinet::warmup
