// The file system calls that change something on disk, behind a seam so that tests can make each of them fail.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

namespace cubinet::util {

// Each method behaves as the call of the same name: -1 and errno on failure. The defaults are the real calls, but no
// folder that a path goes through may be a link (ENOTDIR): whoever may write in a folder could put one in the place of
// what is in it, at any moment, and lead root to the files of others. Callers name files by real paths: see
// real_path() in files.hpp. The last name is as for the system. Thread-safe.
class SystemCalls {
 public:
  virtual ~SystemCalls() = default;
  virtual int open(const std::string& path, int flags, mode_t mode);
  virtual ssize_t write(int file, const char* bytes, std::size_t count);
  virtual int fsync(int file);
  virtual int close(int file);
  virtual int link(const std::string& from, const std::string& to);
  virtual int rename(const std::string& from, const std::string& to);
  virtual int unlink(const std::string& path);
  virtual int rmdir(const std::string& path);
  virtual int mkdir(const std::string& path, mode_t mode);
  virtual int fchown(int file, uid_t user, gid_t group);
  // Takes a shared POSIX lock (fcntl) on the first byte and gives it back: whether the file system keeps such locks.
  virtual int try_record_lock(int file);
};

// The calls of this machine. Lives as long as the process.
SystemCalls& system_calls();

}  // namespace cubinet::util
