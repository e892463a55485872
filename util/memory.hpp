// How much memory this process may still take, and how much it has taken.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet::util {

// What a limit counts: pages that are in memory; addresses, used or not; or those of them that can be written.
enum class MemoryKind { resident, mapped, data };

// What one limit still leaves.
struct MemoryRoom {
  MemoryKind kind = MemoryKind::resident;
  std::int64_t bytes = 0;  // >= 0
  std::string limit;       // for people: "memory.max of /sys/fs/cgroup/build"

  friend bool operator==(const MemoryRoom&, const MemoryRoom&) = default;
};

// Every limit on this process that can be told, none where nothing can: the machine's free memory (MemAvailable), the
// memory limits of its control group and of each above it (version 2: max and high; version 1: limit_in_bytes), and its
// own limits on address space and data. `root` is the folder that holds proc/ and sys/.
std::vector<MemoryRoom> memory_rooms(const std::filesystem::path& root = "/");

// The least bytes that memory_rooms() leave; nullopt where nothing limits them.
std::optional<std::int64_t> available_memory(const std::filesystem::path& root = "/");

// The memory of this process that is resident now, and the most that was at any time; 0 where it cannot be told.
std::int64_t resident_bytes(const std::filesystem::path& root = "/");
std::int64_t peak_resident_bytes(const std::filesystem::path& root = "/");

// The part of this process's resident memory that is pages of files, which other processes with these files share; 0 where
// it cannot be told.
std::int64_t resident_file_bytes(const std::filesystem::path& root = "/");

// The number on the line of `text` that begins with the word `label`: "VmHWM:  12 kB" -> 12288, "inactive_file 5" -> 5.
// nullopt when there is no such line, or no number of bytes on it. Pure.
std::optional<std::int64_t> labelled_bytes(std::string_view text, std::string_view label);

// The soft limit in a text in the form of /proc/self/limits, "Max data size  1024  unlimited  bytes" -> 1024; nullopt
// when it is unlimited or not there. Pure.
std::optional<std::int64_t> process_limit(std::string_view text, std::string_view label);

}  // namespace cubinet::util
