// System calls that give what they make to another user.
#pragma once

#include <string>

#include "util/system_calls.hpp"

namespace cubinet::util {

// Those of `calls`, but a file or folder that they make belongs to `user` and `group` from then on, as far as the
// system lets it: where it does not, it stays with who made it. What was there before keeps its owner. `calls` must
// outlive it.
class GivingCalls final : public SystemCalls {
 public:
  GivingCalls(SystemCalls& calls, uid_t user, gid_t group) : calls_(calls), user_(user), group_(group) {}

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
