// What was asked of a root since it was made, as its index counts it.
#pragma once

#include <array>
#include <cstdint>

namespace cubinet::cache {

struct Counters {
  std::int64_t hits = 0;            // kernels that were asked for and found, in the root or a layer
  std::int64_t misses = 0;          // that were asked for and had to be made, or refused
  std::int64_t compiles = 0;        // kernels that were made and brought here
  std::int64_t damage = 0;          // damaged files that look-ups set aside
  std::int64_t evictions = 0;       // entries that collections removed
  std::int64_t evicted_misses = 0;  // of `misses`, those that would have been hits but for an eviction

  friend bool operator==(const Counters&, const Counters&) = default;
};

// A counter by the name that it has on disk and in the command's output, and what it counts, for people.
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

}  // namespace cubinet::cache
