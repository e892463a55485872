#include "util/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <thread>

#include "util/control_group.hpp"

namespace cubinet::util {
namespace {

namespace fs = std::filesystem;

int cores_of_affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());  // more CPUs than a cpu_set_t holds
}

std::string first_line(const fs::path& file) {
  const std::string text = kernel_text(file);
  return text.substr(0, text.find('\n'));
}

std::optional<std::int64_t> positive_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<int> cores_of_quota(std::string_view cpu_max) {
  const std::size_t space = cpu_max.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto quota = positive_number(cpu_max.substr(0, space));
  const auto period = positive_number(cpu_max.substr(space + 1));
  if (!quota || !period) return std::nullopt;
  const std::int64_t cores = *quota / *period + (*quota % *period != 0 ? 1 : 0);
  return static_cast<int>(std::min<std::int64_t>(cores, 1 << 20));
}

int usable_cores(const fs::path& root) {
  int cores = cores_of_affinity();
  const auto bind = [&](const std::string& cpu_max) {
    if (const auto quota = cores_of_quota(cpu_max)) cores = std::min(cores, *quota);
  };
  for (const fs::path& group : group_folders(unified_hierarchy, root)) bind(first_line(group / "cpu.max"));
  for (const fs::path& group : group_folders("cpu", root)) {
    bind(first_line(group / "cpu.cfs_quota_us") + ' ' + first_line(group / "cpu.cfs_period_us"));
  }
  return std::max(cores, 1);
}

}  // namespace cubinet::util
