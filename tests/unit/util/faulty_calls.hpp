// System calls of which a chosen one fails, as on a full or broken disk.
#pragma once

#include <algorithm>
#include <cerrno>
#include <string>

#include "util/system_calls.hpp"

namespace cubinet::test {

// Counts the calls; call number `fail_at` (from 0) fails with `error`. A failing write first writes half of its bytes,
// as on a disk that fills up. With `longest_write` set, writes are short.
class FaultyCalls final : public util::SystemCalls {
 public:
  int fail_at = -1;
  int error = ENOSPC;
  std::size_t longest_write = 0;
  int interrupt_every = 0;  // every n-th write fails with EINTR
  int calls = 0;
  int writes = 0;

  int open(const std::string& path, int flags, mode_t mode) override {
    return fails() ? -1 : SystemCalls::open(path, flags, mode);
  }
  ssize_t write(int file, const char* bytes, std::size_t count) override {
    if (fails()) {
      if (SystemCalls::write(file, bytes, count / 2) < 0) return -1;
      errno = error;
      return -1;
    }
    ++writes;
    if (interrupt_every > 0 && writes % interrupt_every == 0) {
      errno = EINTR;
      return -1;
    }
    return SystemCalls::write(file, bytes, longest_write > 0 ? std::min(count, longest_write) : count);
  }
  int fsync(int file) override { return fails() ? -1 : SystemCalls::fsync(file); }
  int close(int file) override {
    const bool failing = fails();
    const int closed = SystemCalls::close(file);
    if (failing) errno = error;
    return failing ? -1 : closed;
  }
  int link(const std::string& from, const std::string& to) override {
    return fails() ? -1 : SystemCalls::link(from, to);
  }
  int rename(const std::string& from, const std::string& to) override {
    return fails() ? -1 : SystemCalls::rename(from, to);
  }
  int mkdir(const std::string& path, mode_t mode) override { return fails() ? -1 : SystemCalls::mkdir(path, mode); }
  int fchown(int file, uid_t user, gid_t group) override {
    return fails() ? -1 : SystemCalls::fchown(file, user, group);
  }

 private:
  bool fails() {
    if (calls++ != fail_at) return false;
    errno = error;
    return true;
  }
};

}  // namespace cubinet::test
