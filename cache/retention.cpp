#include "cache/retention.hpp"

#include <algorithm>
#include <tuple>

#include "util/clock.hpp"

namespace cubinet::cache {
namespace {

bool is_ahead_of(std::int64_t now, std::int64_t time) { return time - util::seconds_per_day > now; }

// The time of last use as recorded. No entry was used before it was created, so the later of both times counts; unless
// the creation is in the future: then a clock was wrong, and a recorded use is more credible.
std::int64_t recorded_use(const Entry& entry, std::int64_t now) {
  if (entry.last_used != 0 && is_ahead_of(now, entry.facts.created)) return entry.last_used;
  return std::max(entry.last_used, entry.facts.created);
}

// The entries that may be evicted, the least recently used first. Equal times are ordered by the recorded times, then
// by the keys, so that the decision is deterministic.
std::vector<const Entry*> candidates(const std::vector<Entry>& entries, std::int64_t now) {
  std::vector<const Entry*> chosen;
  for (const Entry& entry : entries) {
    if (!entry.pinned && !entry.in_use) chosen.push_back(&entry);
  }
  std::sort(chosen.begin(), chosen.end(), [&](const Entry* a, const Entry* b) {
    return std::make_tuple(last_use(*a, now), recorded_use(*a, now), a->key) <
           std::make_tuple(last_use(*b, now), recorded_use(*b, now), b->key);
  });
  return chosen;
}

}  // namespace

std::int64_t last_use(const Entry& entry, std::int64_t now) {
  return std::clamp<std::int64_t>(recorded_use(entry, now), 0, std::max<std::int64_t>(now, 0));
}

bool is_ahead(const Entry& entry, std::int64_t now) { return is_ahead_of(now, recorded_use(entry, now)); }

Decision decide(const std::vector<Entry>& entries, const Limits& limits, std::int64_t now, const Evict& evict) {
  Decision decision;
  for (const Entry& entry : entries) {
    ++decision.entries_left;
    decision.bytes_left += entry.bytes;
  }
  const auto too_many = [&] { return is_over(decision.entries_left, limits.entries); };
  const auto too_large = [&] { return is_over(decision.bytes_left, limits.bytes); };
  for (const Entry* entry : candidates(entries, now)) {
    const bool too_old = is_over(now - last_use(*entry, now), limits.age);
    if (!too_old && !too_many() && !too_large()) break;
    const auto reason = too_old ? EvictionReason::age : too_many() ? EvictionReason::entries : EvictionReason::bytes;
    const EvictionOutcome fate = evict ? evict(*entry) : EvictionOutcome::evicted;
    if (fate == EvictionOutcome::stays) continue;
    if (fate == EvictionOutcome::evicted) decision.evictions.push_back({*entry, reason});
    --decision.entries_left;
    decision.bytes_left -= entry->bytes;
  }
  decision.over = too_many() || too_large();
  return decision;
}

}  // namespace cubinet::cache
