#include "util/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace cubinet::util {
namespace {

int cores_of_affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());  // more CPUs than a cpu_set_t holds
}

// The control group of this process (version 2: the line "0::/path"), "/" when it cannot be told.
std::string control_group() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return "/";
}

std::string first_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
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

int usable_cores() {
  int cores = cores_of_affinity();
  // A quota binds everything below its group, so each group on the way up counts.
  for (std::filesystem::path group = control_group();; group = group.parent_path()) {
    if (const auto quota = cores_of_quota(first_line("/sys/fs/cgroup" + group.native() + "/cpu.max"))) {
      cores = std::min(cores, *quota);
    }
    if (!group.has_relative_path()) break;
  }
  return std::max(cores, 1);
}

}  // namespace cubinet::util
