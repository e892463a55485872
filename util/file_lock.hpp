// Locks between processes that vanish with their holder.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "util/expected.hpp"
#include "util/files.hpp"

namespace cubinet::util {

// An exclusive flock on a file, released on destruction, and by the kernel when the process dies. The file is made when
// it is missing and never removed. A child made by fork shares the lock until it closes or executes.
class FileLock {
 public:
  // Waits at most `patience`; no value when somebody else held the lock all that time. io when the file cannot be
  // opened or the file system knows no locks.
  static Expected<std::optional<FileLock>> acquire(const std::filesystem::path& path,
                                                   std::chrono::milliseconds patience);

 private:
  explicit FileLock(File file) : file_(std::move(file)) {}
  File file_;
};

}  // namespace cubinet::util
