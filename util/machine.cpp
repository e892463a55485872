#include "util/machine.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <thread>

#include "util/text.hpp"

namespace cubinet::util {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view version_2;  // the hierarchy without a name

// The content of a file of the kernel, whose size is unknown beforehand; empty if it cannot be read.
std::string kernel_text(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

// A number >= 0; nullopt for any other word, "max" and "-1" (no limit) among them.
std::optional<std::int64_t> whole_number(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<std::int64_t> number_in(const fs::path& file) {
  const auto words = words_of(kernel_text(file));
  return words.empty() ? std::nullopt : whole_number(words.front());
}

// The words after `label` and a blank on the line that begins with them; none if there is no such line.
std::vector<std::string> words_after(std::string_view text, std::string_view label) {
  for (const std::string& line : split(text, '\n')) {
    const std::string_view rest = std::string_view(line).substr(std::min(label.size(), line.size()));
    if (line.starts_with(label) && (rest.starts_with(' ') || rest.starts_with('\t'))) return words_of(rest);
  }
  return {};
}

// "VmHWM:  12 kB" -> 12288, "inactive_file 5" -> 5; nullopt if there is no such line, or another unit.
std::optional<std::int64_t> labelled_bytes(std::string_view text, std::string_view label) {
  const auto words = words_after(text, label);
  auto value = words.empty() ? std::nullopt : whole_number(words[0]);
  if (!value || words.size() < 2) return value;
  if (words[1] != "kB" || __builtin_mul_overflow(*value, 1024, &*value)) return std::nullopt;
  return value;
}

// The group that a line of /proc/self/cgroup, "4:cpu,cpuacct:/job", names for the hierarchy; nullopt for another one.
std::optional<fs::path> group_on_line(std::string_view line, std::string_view hierarchy) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto controllers = split(line.substr(first + 1, second - first - 1), ',');
  if (std::find(controllers.begin(), controllers.end(), hierarchy) == controllers.end()) return std::nullopt;
  return fs::path(line.substr(second + 1));
}

// The group of this process as an absolute path; "/" if it is unknown, or outside of what is mounted ("/../x").
fs::path group_of(std::string_view hierarchy, const fs::path& root) {
  for (const std::string& line : split(kernel_text(root / "proc/self/cgroup"), '\n')) {
    const auto group = group_on_line(line, hierarchy);
    if (!group) continue;
    return group->is_absolute() && std::find(group->begin(), group->end(), "..") == group->end() ? *group : "/";
  }
  return "/";
}

void add_upwards(std::vector<fs::path>& folders, const fs::path& mounted, fs::path group) {
  for (;; group = group.parent_path()) {
    folders.push_back(mounted / group.relative_path());
    if (!group.has_relative_path()) return;
  }
}

int cores_of_affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());  // more CPUs than a cpu_set_t holds
}

// The whole cores that a quota per period grants, rounded up; nullopt if these words set no limit.
std::optional<int> cores_of_quota(const std::vector<std::string>& quota_and_period) {
  if (quota_and_period.size() != 2) return std::nullopt;
  const std::int64_t quota = whole_number(quota_and_period[0]).value_or(0);
  const std::int64_t period = whole_number(quota_and_period[1]).value_or(0);
  if (quota == 0 || period == 0) return std::nullopt;
  const std::int64_t cores = quota / period + (quota % period != 0 ? 1 : 0);
  return static_cast<int>(std::min<std::int64_t>(cores, 1 << 20));
}

// The files in which a version of the interface has a group's limit, its use, and the part of the use that is file
// cache, which the kernel drops before it refuses memory.
struct GroupFiles {
  const char* limit;
  const char* use;
  const char* cache_labels[2];  // in memory.stat: of files not used lately, and of the others
};

void add_group(std::vector<MemoryRoom>& rooms, const fs::path& group, const GroupFiles& files) {
  const auto limit = number_in(group / files.limit);
  const auto use = number_in(group / files.use);
  if (!limit || !use) return;
  const std::string statistics = kernel_text(group / "memory.stat");
  std::int64_t held = *use;
  for (const char* label : files.cache_labels) held -= std::min(labelled_bytes(statistics, label).value_or(0), held);
  rooms.push_back({MemoryKind::resident, std::max<std::int64_t>(*limit - held, 0),
                   std::string(files.limit) + " of " + group.native()});
}

void add_groups(std::vector<MemoryRoom>& rooms, const fs::path& root) {
  for (const fs::path& group : group_folders(version_2, root)) {
    add_group(rooms, group, {"memory.max", "memory.current", {"inactive_file", "active_file"}});
    add_group(rooms, group, {"memory.high", "memory.current", {"inactive_file", "active_file"}});
  }
  for (const fs::path& group : group_folders("memory", root)) {
    add_group(rooms, group,
              {"memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}});
  }
}

std::int64_t status_bytes(const fs::path& root, std::string_view label) {
  return labelled_bytes(kernel_text(root / "proc/self/status"), label).value_or(0);
}

void add_process_limit(std::vector<MemoryRoom>& rooms, const fs::path& root, MemoryKind kind,
                       std::string_view limit_label, std::string_view use_label) {
  const auto words = words_after(kernel_text(root / "proc/self/limits"), limit_label);
  const auto soft_limit = words.empty() ? std::nullopt : whole_number(words.front());
  if (!soft_limit) return;
  const std::int64_t left = std::max<std::int64_t>(*soft_limit - status_bytes(root, use_label), 0);
  rooms.push_back({kind, left, std::string(limit_label).append(" of the process")});
}

}  // namespace

int usable_cores(const fs::path& root) {
  int cores = cores_of_affinity();
  const auto limit_to = [&](const std::string& quota_and_period) {
    if (const auto quota = cores_of_quota(words_of(quota_and_period))) cores = std::min(cores, *quota);
  };
  for (const fs::path& group : group_folders(version_2, root)) limit_to(kernel_text(group / "cpu.max"));
  for (const fs::path& group : group_folders("cpu", root)) {
    limit_to(kernel_text(group / "cpu.cfs_quota_us") + ' ' + kernel_text(group / "cpu.cfs_period_us"));
  }
  return std::max(cores, 1);
}

std::vector<MemoryRoom> memory_rooms(const fs::path& root) {
  std::vector<MemoryRoom> rooms;
  if (const auto free = labelled_bytes(kernel_text(root / "proc/meminfo"), "MemAvailable:")) {
    rooms.push_back({MemoryKind::resident, *free, "MemAvailable in /proc/meminfo"});
  }
  add_groups(rooms, root);
  add_process_limit(rooms, root, MemoryKind::mapped, "Max address space", "VmSize:");
  add_process_limit(rooms, root, MemoryKind::data, "Max data size", "VmData:");
  return rooms;
}

std::int64_t resident_bytes(const fs::path& root) { return status_bytes(root, "VmRSS:"); }
std::int64_t peak_resident_bytes(const fs::path& root) { return status_bytes(root, "VmHWM:"); }
std::int64_t resident_file_bytes(const fs::path& root) { return status_bytes(root, "RssFile:"); }

std::vector<fs::path> group_folders(std::string_view hierarchy, const fs::path& root) {
  const fs::path mounts = root / "sys/fs/cgroup";
  const fs::path group = group_of(hierarchy, root);
  std::vector<fs::path> folders;
  if (hierarchy == version_2) {
    add_upwards(folders, mounts / "unified", group);  // where version 1 is mounted beside it
    add_upwards(folders, mounts, group);
  } else {
    add_upwards(folders, mounts / hierarchy, group);
  }
  return folders;
}

}  // namespace cubinet::util
