// Locks between processes. The kernel releases them when their holder dies.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>

#include "util/expected.hpp"
#include "util/files.hpp"

namespace cubinet::util {

// An exclusive flock on a file, released by the destructor, or by the kernel when the process dies. The file is created
// if it is missing, and never removed. A child made by fork does not keep the lock when its parent releases it.
class FileLock {
 public:
  FileLock(FileLock&&) noexcept = default;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

  // Waits at most `patience`; nullopt if another holder kept the lock all that time. io if the file cannot be opened or
  // the file system does not support locks. `calls` opens the file; it may be destroyed before the lock.
  static Expected<std::optional<FileLock>> acquire(const std::filesystem::path& path,
                                                   std::chrono::milliseconds patience,
                                                   SystemCalls& calls = system_calls());

  // Replaces the file's content by `text`, for processes that find it locked. Errors are ignored.
  void write(std::string_view text);

 private:
  explicit FileLock(File file);
  void release();
  File file_;
  pid_t owner_;
};

// unknown: the file system does not support locks. A file that cannot be opened counts as free.
enum class LockState { free, held, unknown };
LockState lock_state(const std::filesystem::path& path);

}  // namespace cubinet::util
