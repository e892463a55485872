#include "jit/target.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "jit/driver.hpp"

namespace cubinet::jit {
namespace {

struct Architecture {
  const char* name;
  int compute_major;
  int compute_minor;
};

// The architecture runs on devices of this compute capability and on no others.
constexpr std::array kArchitectures{Architecture{"sm_90a", 9, 0}};

std::string title_of(const DeviceInfo& device) {
  return fmt::format("device {} ({}, compute capability {}.{})", device.ordinal, device.name, device.compute_major,
                     device.compute_minor);
}

// The result of `text` for each architecture, separated by commas.
template <class Text>
std::string listed(const Text& text) {
  std::string list;
  for (const Architecture& one : kArchitectures) list += (list.empty() ? "" : ", ") + text(one);
  return list;
}

std::string requirement_of(const Architecture& one) {
  return fmt::format("{} needs compute capability {}.{}", one.name, one.compute_major, one.compute_minor);
}

}  // namespace

Expected<void> check_architecture(const std::string& architecture) {
  const auto is_it = [&](const Architecture& one) { return one.name == architecture; };
  if (std::any_of(kArchitectures.begin(), kArchitectures.end(), is_it)) return {};
  return fail(ErrorCode::unsupported,
              fmt::format("architecture \"{}\" is not supported; the supported ones are: {}", architecture,
                          listed([](const Architecture& one) { return std::string(one.name); })));
}

Expected<Target> target_of(const DeviceInfo& device) {
  const auto runs = [&](const Architecture& one) {
    return one.compute_major == device.compute_major && one.compute_minor == device.compute_minor;
  };
  const auto found = std::find_if(kArchitectures.begin(), kArchitectures.end(), runs);
  if (found != kArchitectures.end()) return Target{found->name, device.num_sms};
  return fail(ErrorCode::wrong_device,
              title_of(device) + " runs none of the supported kernels: " + listed(requirement_of));
}

Expected<void> check_device(const std::string& architecture, const DeviceInfo& device) {
  const auto target = target_of(device);
  if (!target) return propagate(target);
  if (target->architecture == architecture) return {};
  return fail(ErrorCode::wrong_device, "a kernel for " + architecture + " does not run on " + title_of(device) +
                                           ", which takes " + target->architecture);
}

}  // namespace cubinet::jit
