// Counters of the use of a root since it was created. They are stored in the index; a process adds to them in batches.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace cubinet::cache {

struct Counters {
  std::int64_t hits = 0;            // kernels that were looked up and found, in the root or in a layer
  std::int64_t misses = 0;          // kernels that were looked up and had to be compiled, or were refused
  std::int64_t compiles = 0;        // kernels that were compiled and stored here
  std::int64_t damage = 0;          // damaged files that look-ups moved to quarantine
  std::int64_t evictions = 0;       // entries that collections removed
  std::int64_t evicted_misses = 0;  // misses of entries that had been evicted; included in `misses`

  friend bool operator==(const Counters&, const Counters&) = default;
};

// A counter: its name on disk and in the command's output, and one sentence that explains it.
struct CounterField {
  const char* name;
  const char* meaning;
  std::int64_t Counters::*value;
};

inline constexpr std::array<CounterField, 6> counter_fields = {
    {{"hits", "Kernels that were asked for and found.", &Counters::hits},
     {"misses", "Kernels that were asked for and made or refused.", &Counters::misses},
     {"compiles", "Kernels that were compiled and brought here.", &Counters::compiles},
     {"damage", "Damaged files that look-ups set aside.", &Counters::damage},
     {"evictions", "Entries that collections removed.", &Counters::evictions},
     {"evicted_misses", "Misses of what an eviction had removed.", &Counters::evicted_misses}}};

// What this process has counted and not yet written to the index. Thread-safe, without a lock and without a file, so
// that a look-up can count. A child made by fork starts at 0: the parent writes what the parent counted.
class PendingCounters {
 public:
  void add(const Counters& counted);
  // Returns all of it and starts at 0. The caller writes it to the index, or adds it again.
  Counters take();

 private:
  void forget_parent();

  std::atomic<pid_t> owner_ = 0;
  std::array<std::atomic<std::int64_t>, counter_fields.size()> values_{};
};

}  // namespace cubinet::cache
