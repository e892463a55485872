#include "util/system_calls.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace cubinet::util {

int SystemCalls::open(const std::string& path, int flags, mode_t mode) { return ::open(path.c_str(), flags, mode); }
ssize_t SystemCalls::write(int file, const char* bytes, std::size_t count) { return ::write(file, bytes, count); }
int SystemCalls::fsync(int file) { return ::fsync(file); }
int SystemCalls::close(int file) { return ::close(file); }
int SystemCalls::link(const std::string& from, const std::string& to) { return ::link(from.c_str(), to.c_str()); }
int SystemCalls::rename(const std::string& from, const std::string& to) {
  return std::rename(from.c_str(), to.c_str());
}
int SystemCalls::unlink(const std::string& path) { return ::unlink(path.c_str()); }
int SystemCalls::mkdir(const std::string& path, mode_t mode) { return ::mkdir(path.c_str(), mode); }
int SystemCalls::fchown(int file, uid_t user, gid_t group) { return ::fchown(file, user, group); }

SystemCalls& system_calls() {
  static SystemCalls calls;
  return calls;
}

}  // namespace cubinet::util
