#include "util/memory.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "util/control_group.hpp"

namespace cubinet::util {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view blanks = " \t";

// The next word of `text`, which loses it.
std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(" \t\n"));
  text.remove_prefix(word.size());
  return word;
}

std::optional<std::int64_t> whole_number(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < 0) return std::nullopt;
  return value;
}

// What follows `label` and a blank on the line that begins with them; nullopt when there is none.
std::optional<std::string_view> after_label(std::string_view text, std::string_view label) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(label)) continue;
    const std::string_view rest = line.substr(label.size());
    if (!rest.empty() && blanks.find(rest.front()) != std::string_view::npos) return rest;
  }
  return std::nullopt;
}

// "max", the text of no limit, and of no file, is no number.
std::optional<std::int64_t> number_in(const fs::path& file) {
  const std::string text = kernel_text(file);
  std::string_view rest = text;
  return whole_number(next_word(rest));
}

// Where a version of the interface writes a group's limit, its use, and how much of that is a cache of files that the
// kernel gives up before anything is refused.
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
  for (const fs::path& group : group_folders(unified_hierarchy, root)) {
    add_group(rooms, group, {"memory.max", "memory.current", {"inactive_file", "active_file"}});
    add_group(rooms, group, {"memory.high", "memory.current", {"inactive_file", "active_file"}});
  }
  for (const fs::path& group : group_folders("memory", root)) {
    add_group(rooms, group,
              {"memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}});
  }
}

void add_process_limit(std::vector<MemoryRoom>& rooms, const fs::path& root, MemoryKind kind,
                       std::string_view limit_label, std::string_view use_label) {
  const auto limit = process_limit(kernel_text(root / "proc/self/limits"), limit_label);
  if (!limit) return;
  const std::int64_t use = labelled_bytes(kernel_text(root / "proc/self/status"), use_label).value_or(0);
  rooms.push_back({kind, std::max<std::int64_t>(*limit - use, 0), std::string(limit_label).append(" of the process")});
}

std::int64_t status_bytes(const fs::path& root, std::string_view label) {
  return labelled_bytes(kernel_text(root / "proc/self/status"), label).value_or(0);
}

}  // namespace

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

std::optional<std::int64_t> available_memory(const fs::path& root) {
  std::optional<std::int64_t> least;
  for (const MemoryRoom& room : memory_rooms(root)) least = std::min(least.value_or(room.bytes), room.bytes);
  return least;
}

std::int64_t resident_bytes(const fs::path& root) { return status_bytes(root, "VmRSS:"); }
std::int64_t peak_resident_bytes(const fs::path& root) { return status_bytes(root, "VmHWM:"); }
std::int64_t resident_file_bytes(const fs::path& root) { return status_bytes(root, "RssFile:"); }

std::optional<std::int64_t> labelled_bytes(std::string_view text, std::string_view label) {
  auto rest = after_label(text, label);
  if (!rest) return std::nullopt;
  const auto value = whole_number(next_word(*rest));
  const std::string_view unit = next_word(*rest);
  if (!value || (unit != "kB" && !unit.empty())) return std::nullopt;
  if (unit.empty()) return value;
  constexpr std::int64_t kilo = 1024;
  return *value > std::numeric_limits<std::int64_t>::max() / kilo ? std::nullopt : std::optional(*value * kilo);
}

std::optional<std::int64_t> process_limit(std::string_view text, std::string_view label) {
  auto rest = after_label(text, label);
  return rest ? whole_number(next_word(*rest)) : std::nullopt;
}

}  // namespace cubinet::util
