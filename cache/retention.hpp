// Which entries a collection evicts: one pure function for dry runs, for the command and for writers.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cache/entry.hpp"
#include "cache/limits.hpp"

namespace cubinet::cache {

// Why an entry is evicted: it was not used for too long, or the root holds too many entries or bytes.
enum class EvictionReason : std::uint8_t { age, entries, bytes };

struct Eviction {
  Entry entry;
  EvictionReason reason = EvictionReason::bytes;
};

struct Decision {
  std::vector<Eviction> evictions;
  std::int64_t entries_left = 0;
  std::int64_t bytes_left = 0;
  bool over = false;  // the rest still exceeds a limit: it is pinned or in use, or could not be removed
};

// The time of last use for evictions: never before the creation, even if a clock was wrong at the use. A time in the
// future comes from a wrong clock, then or now, and counts as `now`, so that a wrong clock does not make entries old.
std::int64_t last_use(const Entry& entry, std::int64_t now);

// Whether the entry's time is more than a day after `now`. A collection replaces such a time by `now`; otherwise the
// entry would be the youngest until that time.
bool is_ahead(const Entry& entry, std::int64_t now);

// The outcome of an eviction. `gone`: another process has removed the entry first, and counts it. `stays`: the entry
// could not be removed, and others are evicted in its place.
enum class EvictionOutcome : std::uint8_t { evicted, gone, stays };
using Evict = std::function<EvictionOutcome(const Entry&)>;

// Decides what to evict, in this order: entries that were not used for longer than limits.age, then the least recently
// used ones until the rest is within the other limits. Pinned entries and entries in use stay, whatever the limits. The
// order of `entries` does not matter. `evict` carries out each eviction when it is decided; empty: nothing is removed.
Decision decide(const std::vector<Entry>& entries, const Limits& limits, std::int64_t now, const Evict& evict = {});

}  // namespace cubinet::cache
