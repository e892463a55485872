// Locks between processes that vanish with their holder.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>

#include "util/expected.hpp"
#include "util/files.hpp"

namespace cubinet::util {

// An exclusive flock on a file, released on destruction, and by the kernel when the process dies. The file is made when
// it is missing and never removed. A child made by fork cannot keep the lock when its maker lets go.
class FileLock {
 public:
  FileLock(FileLock&&) noexcept = default;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

  // Waits at most `patience`; no value when somebody else held the lock all that time. io when the file cannot be
  // opened or the file system knows no locks. `calls` opens the file, and may end before the lock does.
  static Expected<std::optional<FileLock>> acquire(const std::filesystem::path& path,
                                                   std::chrono::milliseconds patience,
                                                   SystemCalls& calls = system_calls());

  // Puts `text` in the place of what the file holds, for those who find it locked to read. Best effort.
  void write(std::string_view text);

 private:
  explicit FileLock(File file);
  void release();
  File file_;
  pid_t owner_;
};

// unknown: the file system keeps no locks. A file that cannot be opened is free.
enum class LockState { free, held, unknown };
LockState lock_state(const std::filesystem::path& path);

// Whether somebody is known to hold a lock on the file.
bool is_locked(const std::filesystem::path& path);

}  // namespace cubinet::util
