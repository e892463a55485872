// Single flight: of all processes and threads that need an entry, one compiles it and the others find it. Claims only
// save work: without one, each process compiles what is missing, and the first publisher wins.
#pragma once

#include <cstdint>
#include <optional>

#include "cache/key.hpp"
#include "cache/layout.hpp"
#include "util/file_lock.hpp"

namespace cubinet::cache {

// The right to compile an entry, or the information that another process has it. Released by the destructor, and by the
// kernel when the process ends. Keys that begin with the same two digits share one claim: a thread must not hold two.
class Claim {
 public:
  // Neither held nor taken.
  Claim() = default;
  // Tries once, without waiting. Neither held nor taken if the file cannot be locked.
  static Claim attempt(const Layout& layout, const Key& key, util::SystemCalls& calls);

  // Whether the caller has the right: it compiles the entry.
  [[nodiscard]] bool mine() const { return lock_.has_value(); }
  // Whether another process, or another thread of this one, has it, for this key or for one that shares the claim.
  [[nodiscard]] bool taken() const { return taken_; }
  // The process id that the holder has written into the file; 0 if it has not written it yet.
  [[nodiscard]] std::int64_t holder() const { return holder_; }

 private:
  std::optional<util::FileLock> lock_;
  bool taken_ = false;
  std::int64_t holder_ = 0;
};

}  // namespace cubinet::cache
