#include "util/giving_calls.hpp"

#include <fcntl.h>

#include <cerrno>

namespace cubinet::util {

// Only what this call has made is given away, whatever lies at the path: the other user may have put a link to a file
// of the caller's there.
int GivingCalls::open(const std::string& path, int flags, mode_t mode) {
  if ((flags & O_CREAT) == 0) return calls_.open(path, flags, mode);
  const int made = calls_.open(path, flags | O_EXCL, mode);
  if (made >= 0) {
    static_cast<void>(calls_.fchown(made, user_, group_));
    return made;
  }
  const bool there = errno == EEXIST && (flags & O_EXCL) == 0;
  return there ? calls_.open(path, flags, mode) : -1;
}

int GivingCalls::mkdir(const std::string& path, mode_t mode) {
  if (calls_.mkdir(path, mode) != 0) return -1;
  const int folder = calls_.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
  if (folder >= 0) {
    static_cast<void>(calls_.fchown(folder, user_, group_));
    calls_.close(folder);
  }
  return 0;
}

}  // namespace cubinet::util
