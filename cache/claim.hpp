// Single flight: of all the processes and threads that want an entry made, one makes it and the others find it. Claims
// save work and nothing else: where there is none to be had, everybody makes what is missing, and the first publisher
// wins.
#pragma once

#include <cstdint>
#include <optional>

#include "cache/key.hpp"
#include "cache/layout.hpp"
#include "util/file_lock.hpp"

namespace cubinet::cache {

// An attempt to be the one that makes an entry. A claim is released on destruction, and by the kernel when its process
// dies. Keys that begin with the same two digits share one: never hold two in a thread.
class Claim {
 public:
  // Neither mine nor taken.
  Claim() = default;
  // Does not wait. Neither mine nor taken where the file cannot be locked.
  static Claim attempt(const Layout& layout, const Key& key, util::SystemCalls& calls);

  // This is the one that makes it.
  [[nodiscard]] bool mine() const { return lock_.has_value(); }
  // Another process, or another thread of this one, makes it, or one that shares its claim.
  [[nodiscard]] bool taken() const { return taken_; }
  // The process that does, as it names itself; 0 when it has not yet.
  [[nodiscard]] std::int64_t holder() const { return holder_; }

 private:
  std::optional<util::FileLock> lock_;
  bool taken_ = false;
  std::int64_t holder_ = 0;
};

}  // namespace cubinet::cache
