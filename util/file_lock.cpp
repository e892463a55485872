#include "util/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "util/clock.hpp"

namespace cubinet::util {

FileLock::FileLock(File file) : file_(std::move(file)), owner_(::getpid()) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  if (this == &other) return *this;
  release();
  file_ = std::move(other.file_);
  owner_ = other.owner_;
  return *this;
}

FileLock::~FileLock() { release(); }

// Closing alone would leave the lock to a child that inherited the open file.
void FileLock::release() {
  if (file_ && owner_ == ::getpid()) ::flock(file_.get(), LOCK_UN);
}

void FileLock::write(std::string_view text) {
  if (::ftruncate(file_.get(), 0) != 0) return;
  static_cast<void>(::pwrite(file_.get(), text.data(), text.size(), 0) < 0);
}

Expected<std::optional<FileLock>> FileLock::acquire(const std::filesystem::path& path,
                                                    std::chrono::milliseconds patience, SystemCalls& calls) {
  File file(calls.open(path.native(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644), system_calls());
  // Another user's file can be locked as well; nothing is written to it then.
  if (!file && errno == EACCES)
    file = File(calls.open(path.native(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0), system_calls());
  if (!file) return fail(ErrorCode::io, system_message("open the lock", path, errno));
  const auto deadline = now() + patience;
  // Polls, because flock has no timed wait that is safe in a library (an alarm signal belongs to the program).
  auto pause = std::chrono::milliseconds(1);
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return fail(ErrorCode::io, system_message("lock", path, errno));
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now());
    if (left.count() <= 0) return std::optional<FileLock>();
    std::this_thread::sleep_for(std::min(pause, left));
    pause = std::min(pause * 2, std::chrono::milliseconds(20));
  }
  return std::optional<FileLock>(FileLock(std::move(file)));
}

LockState lock_state(const std::filesystem::path& path) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), system_calls());
  if (!file || ::flock(file.get(), LOCK_SH | LOCK_NB) == 0) return LockState::free;
  return errno == EWOULDBLOCK ? LockState::held : LockState::unknown;
}

}  // namespace cubinet::util
