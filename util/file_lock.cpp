#include "util/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <thread>

namespace cubinet::util {

Expected<std::optional<FileLock>> FileLock::acquire(const std::filesystem::path& path,
                                                    std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  File file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644), system_calls());
  if (!file) return fail(ErrorCode::io, system_message("open the lock", path, errno));
  const auto deadline = Clock::now() + patience;
  // Polling, because flock has no bounded wait that is safe in a library (an alarm signal belongs to the program).
  auto pause = std::chrono::milliseconds(1);
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return fail(ErrorCode::io, system_message("lock", path, errno));
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return std::optional<FileLock>();
    std::this_thread::sleep_for(std::min(pause, left));
    pause = std::min(pause * 2, std::chrono::milliseconds(20));
  }
  return std::optional<FileLock>(FileLock(std::move(file)));
}

}  // namespace cubinet::util
