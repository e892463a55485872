// Which entries go when a root is over its limits: one pure function, for dry runs, for the command and for writers.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cache/cabinet.hpp"
#include "cache/limits.hpp"

namespace cubinet::cache {

// When the entry was used last, as far as an eviction goes: not before its creation, whatever a clock said at the use.
// A time that has not come yet was told by a wrong clock, then or now, and counts as now: it makes nothing old at once.
std::int64_t last_use(const Entry& entry, std::int64_t now);

// Whether the entry says a time that is more than a day ahead of `now`. A collection sets it right, so that the entry
// grows old from then on and is not the youngest until that time has come.
bool is_ahead(const Entry& entry, std::int64_t now);

// What became of an eviction that was to be carried out. `gone`: another one was faster, and counts it. In the place of
// what stays the next ones go.
enum class Fate : std::uint8_t { evicted, gone, stays };
using Evict = std::function<Fate(const Entry&)>;

// What to evict, in this order: those that were not used for longer than limits.age, then the least recently used ones
// until the rest is within the other limits. Entries that are pinned or in use stay, whatever the limits say. The
// order of `entries` does not matter. `evict` carries each one out where it is decided; empty: nothing is.
Decision decide(const std::vector<Entry>& entries, const Limits& limits, std::int64_t now, const Evict& evict = {});

}  // namespace cubinet::cache
