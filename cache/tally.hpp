// What a process has counted and not yet written to the index.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "cache/counters.hpp"

namespace cubinet::cache {

// Costs a look-up no lock and no file. Thread-safe. A child made by fork starts with nothing: what its parent counted
// is the parent's to write.
class Tally {
 public:
  void add(const Counters& counted);
  // All of it, which is then the caller's to write, or to add again.
  Counters take();

 private:
  void forget_parent();

  std::atomic<pid_t> owner_ = 0;
  std::array<std::atomic<std::int64_t>, counter_fields.size()> values_{};
};

}  // namespace cubinet::cache
