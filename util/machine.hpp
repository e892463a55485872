// The cores and the memory that this process may use: within the limits of the machine, of its control groups (both
// versions of the kernel's interface) and of the process. Each function takes `root`, the folder that holds proc/ and
// sys/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet::util {

// The number of cores that this process may use, at least 1: those of its CPU affinity, or fewer if its control group
// or one above it has a smaller CPU quota. A quota is rounded up to whole cores.
int usable_cores(const std::filesystem::path& root = "/");

// What a memory limit counts: resident pages, mapped addresses (used or not), or mapped writable addresses.
enum class MemoryKind { resident, mapped, data };

// The memory that one limit still leaves to this process.
struct MemoryRoom {
  MemoryKind kind = MemoryKind::resident;
  std::int64_t bytes = 0;  // >= 0
  std::string limit;       // for people: "memory.max of /sys/fs/cgroup/build"

  friend bool operator==(const MemoryRoom&, const MemoryRoom&) = default;
};

// All known limits on this process, possibly none: the machine's free memory (MemAvailable), the memory limits of its
// control group and of each group above it (version 2: max and high; version 1: limit_in_bytes), and its own limits on
// address space and data. The file cache of a control group counts as free.
std::vector<MemoryRoom> memory_rooms(const std::filesystem::path& root = "/");

// Resident memory of this process: now, at its peak, and now in pages of files, which processes with the same files
// share. In bytes; 0 if unknown.
std::int64_t resident_bytes(const std::filesystem::path& root = "/");
std::int64_t peak_resident_bytes(const std::filesystem::path& root = "/");
std::int64_t resident_file_bytes(const std::filesystem::path& root = "/");

// The folders of the process's control group and of each group above it, innermost first. `hierarchy` is empty for
// version 2, else the controller of version 1: "cpu", "memory". A folder may be missing: inside a container the group's
// path can be the host's, and then only the last folder, the mounted root, exists.
std::vector<std::filesystem::path> group_folders(std::string_view hierarchy, const std::filesystem::path& root = "/");

}  // namespace cubinet::util
