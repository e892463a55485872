// The system calls that change something on disk, behind an interface, so that tests can make each of them fail.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

namespace cubinet::util {

// Each method behaves like the call of the same name: it returns -1 and sets errno on failure. The default
// implementation makes the real calls but refuses a path with a symbolic link among its folders (ENOTDIR): otherwise a
// user who may write to a folder could replace its contents by a link at any time and redirect root to other users'
// files. The last name of a path is treated as by the system. Callers pass real paths: see real_path() in files.hpp.
// Thread-safe.
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
  // Takes and releases a shared POSIX lock (fcntl) on the first byte, to test whether the file system supports such
  // locks.
  virtual int try_record_lock(int file);
};

// The calls of this machine. Lives as long as the process.
SystemCalls& system_calls();

// Creates files and folders with `calls` and changes their owner to `user` and `group`. If the owner cannot be changed,
// they keep the calling user. Existing files keep their owner. `calls` must outlive the object.
class ChowningCalls final : public SystemCalls {
 public:
  ChowningCalls(SystemCalls& calls, uid_t user, gid_t group) : calls_(calls), user_(user), group_(group) {}

  int open(const std::string& path, int flags, mode_t mode) override;
  int mkdir(const std::string& path, mode_t mode) override;

  ssize_t write(int file, const char* bytes, std::size_t count) override { return calls_.write(file, bytes, count); }
  int fsync(int file) override { return calls_.fsync(file); }
  int close(int file) override { return calls_.close(file); }
  int link(const std::string& from, const std::string& to) override { return calls_.link(from, to); }
  int rename(const std::string& from, const std::string& to) override { return calls_.rename(from, to); }
  int unlink(const std::string& path) override { return calls_.unlink(path); }
  int rmdir(const std::string& path) override { return calls_.rmdir(path); }
  int fchown(int file, uid_t user, gid_t group) override { return calls_.fchown(file, user, group); }
  int try_record_lock(int file) override { return calls_.try_record_lock(file); }

 private:
  SystemCalls& calls_;
  uid_t user_;
  gid_t group_;
};

}  // namespace cubinet::util
