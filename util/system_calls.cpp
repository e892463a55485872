#include "util/system_calls.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <string_view>

namespace cubinet::util {
namespace {

// The folder that contains the last name of a path. It is opened name by name, since the system would follow links on
// the way. Allocates no memory: code that has run out of memory cleans up with these calls.
class Folder {
 public:
  explicit Folder(const std::string& path) : file_(::open(path.starts_with('/') ? "/" : ".", flags)) {
    for (auto slash = path.find('/'); file_ >= 0 && slash != std::string::npos; slash = path.find('/', start_)) {
      enter(std::string_view(path).substr(start_, slash - start_));
      start_ = slash + 1;
    }
    name_ = path.c_str() + start_;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { leave(); }

  // Returns call(folder, last name); -1 with errno if the folder cannot be opened.
  template <class Call>
  int with(Call call) const {
    return file_ < 0 ? -1 : call(file_, name_);
  }

 private:
  static constexpr int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

  void enter(std::string_view name) {
    if (name.empty()) return;
    char text[NAME_MAX + 1] = {};
    const bool fits = name.copy(text, NAME_MAX) == name.size();
    if (!fits) errno = ENAMETOOLONG;
    const int inner = fits ? ::openat(file_, text, flags) : -1;
    leave();
    file_ = inner;
  }

  void leave() const {
    const int error = errno;
    if (file_ >= 0) ::close(file_);
    errno = error;
  }

  int file_;
  std::size_t start_ = 0;
  const char* name_ = "";
};

// The same for two paths.
template <class Call>
int with_both(const std::string& from, const std::string& to, Call call) {
  const Folder target(to);
  return Folder(from).with([&](int from_folder, const char* from_name) {
    return target.with([&](int folder, const char* name) { return call(from_folder, from_name, folder, name); });
  });
}

}  // namespace

int SystemCalls::open(const std::string& path, int flags, mode_t mode) {
  return Folder(path).with([&](int folder, const char* name) { return ::openat(folder, name, flags, mode); });
}
ssize_t SystemCalls::write(int file, const char* bytes, std::size_t count) { return ::write(file, bytes, count); }
int SystemCalls::fsync(int file) { return ::fsync(file); }
int SystemCalls::close(int file) { return ::close(file); }
int SystemCalls::link(const std::string& from, const std::string& to) {
  return with_both(from, to,
                   [](int a, const char* old, int b, const char* name) { return ::linkat(a, old, b, name, 0); });
}
int SystemCalls::rename(const std::string& from, const std::string& to) {
  return with_both(from, to,
                   [](int a, const char* old, int b, const char* name) { return ::renameat(a, old, b, name); });
}
int SystemCalls::unlink(const std::string& path) {
  return Folder(path).with([](int folder, const char* name) { return ::unlinkat(folder, name, 0); });
}
int SystemCalls::rmdir(const std::string& path) {
  return Folder(path).with([](int folder, const char* name) { return ::unlinkat(folder, name, AT_REMOVEDIR); });
}
int SystemCalls::mkdir(const std::string& path, mode_t mode) {
  return Folder(path).with([&](int folder, const char* name) { return ::mkdirat(folder, name, mode); });
}
int SystemCalls::try_record_lock(int file) {
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  if (::fcntl(file, F_SETLK, &lock) != 0) return -1;
  lock.l_type = F_UNLCK;
  return ::fcntl(file, F_SETLK, &lock);
}
int SystemCalls::fchown(int file, uid_t user, gid_t group) { return ::fchown(file, user, group); }

SystemCalls& system_calls() {
  static SystemCalls calls;
  return calls;
}

// Changes the owner of a file only if this call has created it: the other user may have put a link to one of the
// caller's files at the path.
int ChowningCalls::open(const std::string& path, int flags, mode_t mode) {
  if ((flags & O_CREAT) == 0) return calls_.open(path, flags, mode);
  const int created = calls_.open(path, flags | O_EXCL, mode);
  if (created >= 0) {
    static_cast<void>(calls_.fchown(created, user_, group_));
    return created;
  }
  const bool exists = errno == EEXIST && (flags & O_EXCL) == 0;
  return exists ? calls_.open(path, flags, mode) : -1;
}

int ChowningCalls::mkdir(const std::string& path, mode_t mode) {
  if (calls_.mkdir(path, mode) != 0) return -1;
  const int folder = calls_.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
  if (folder >= 0) {
    static_cast<void>(calls_.fchown(folder, user_, group_));
    calls_.close(folder);
  }
  return 0;
}

}  // namespace cubinet::util
