// Keeps a root within its limits, and pins.
#include <fmt/format.h>

#include "cache/cabinet_state.hpp"
#include "cache/kept_entries.hpp"
#include "cache/quarantine.hpp"
#include "cache/retention.hpp"
#include "util/clock.hpp"
#include "util/file_lock.hpp"

namespace cubinet::cache {
namespace {

constexpr std::int64_t leftover_age = util::seconds_per_day;
constexpr std::int64_t quarantine_age = 30 * util::seconds_per_day;

// This many files are removed before their rows are: a killed collection leaves at most so many dangling rows.
constexpr std::size_t batch = 256;

std::vector<Key> keys_ahead(const std::vector<Entry>& entries, std::int64_t now) {
  std::vector<Key> keys;
  for (const Entry& entry : entries) {
    if (is_ahead(entry, now)) keys.push_back(entry.key);
  }
  return keys;
}

// A clock that shows a time before the first cabinet existed is wrong: no recorded time is corrected by it.
bool is_sane(std::int64_t now) {
  constexpr std::int64_t year_2025 = 1'735'689'600;
  return now >= year_2025;
}

}  // namespace

// Removes the file now; the row follows together with others.
EvictionOutcome CabinetState::evict(const Entry& entry, Collection& collection, IndexChange& change) const {
  if (is_there(root.layout.pin(entry.key))) return EvictionOutcome::stays;  // pinned after the decision began
  const auto removed = store.evict(entry.key);
  if (!removed) {
    collection.problem = removed.error().message;
    return EvictionOutcome::stays;
  }
  if (!*removed) return EvictionOutcome::gone;
  change.evicted.push_back(entry.key);
  if (change.evicted.size() == batch) write_evictions(collection, std::exchange(change, {}));
  return EvictionOutcome::evicted;
}

void CabinetState::write_evictions(Collection& collection, IndexChange change) const {
  if (change.evicted.empty() && change.ahead.empty()) return;
  change.counted = {.evictions = static_cast<std::int64_t>(change.evicted.size())};
  const auto written = write(std::move(change));
  if (!written && !index.lacks_locks()) collection.index_problem = written.error().message;
}

Expected<Collection> CabinetState::collect(const Limits& within, bool dry_run) const {
  auto survey = take_survey(dry_run ? SurveyMode::changes_nothing : SurveyMode::updates_index);
  if (!survey) return propagate(survey);
  // Without locks there is no index, and entries are evicted by their creation; removing an object needs no lock.
  if (!survey->index_problem.empty() && !index.lacks_locks()) {
    return fail(ErrorCode::io,
                survey->index_problem + "; without it the time of last use is unknown: nothing is evicted");
  }
  if (auto marked = mark_kept(survey->entries); !marked) return propagate(marked);
  const std::int64_t now = clock.seconds();
  Collection collection;
  if (dry_run) {
    collection.decision = decide(survey->entries, within, now);
  } else {
    IndexChange change;
    change.now = now;
    if (is_sane(now)) change.ahead = keys_ahead(survey->entries, now);
    collection.decision =
        decide(survey->entries, within, now, [&](const Entry& entry) { return evict(entry, collection, change); });
    write_evictions(collection, std::move(change));
    static_cast<void>(index.recount());
    sweep_leases(calls, root.layout);
  }
  collection.leftovers = store.leftovers(!dry_run, now - leftover_age);
  collection.quarantined = sweep_quarantine(calls, root.layout, !dry_run, now - quarantine_age);
  return collection;
}

Totals CabinetState::measure() const {
  Totals totals;
  const auto listing = store.list();
  if (!listing) return totals;
  totals.entries = static_cast<std::int64_t>(listing->objects.size());
  for (const auto& [key, bytes] : listing->objects) totals.bytes += bytes;
  return totals;
}

void CabinetState::keep_within_limits(const Totals& totals) const {
  const bool over = is_over(totals.bytes, options.limits.bytes) || is_over(totals.entries, options.limits.entries);
  const auto now = util::now().time_since_epoch() / std::chrono::milliseconds(1);
  if (!over || now < next_collection) return;
  // If another process holds the lock, it is collecting, and this one need not.
  const auto lock = util::FileLock::acquire(root.layout.collecting(), std::chrono::milliseconds(0), calls);
  if (lock && !*lock) return;
  const auto collected = collect(with_headroom(options.limits), false);
  constexpr std::int64_t minute = 60'000;
  if (!collected || collected->decision.over || collected->decision.evictions.empty()) next_collection = now + minute;
}

Expected<Collection> Maintenance::collect(const Limits& limits, bool dry_run) {
  if (dry_run) return state_->collect(limits, true);
  if (auto whole = state_->require_whole(); !whole) return propagate(whole);
  // Two collections that list the root at once would evict too much between them. A collection that hangs, or a file
  // system without locks, must not prevent this one: it goes on without the lock.
  const auto lock =
      util::FileLock::acquire(state_->root.layout.collecting(), state_->options.index_patience, state_->calls);
  return state_->collect(limits, false);
}

Expected<void> Maintenance::pin(const Key& key) {
  if (auto whole = state_->require_whole(); !whole) return whole;
  if (auto added = add_pin(state_->calls, state_->root.layout, key); !added) return added;
  // A running collection may have checked for the pin just before it was created.
  const auto lock =
      util::FileLock::acquire(state_->root.layout.collecting(), state_->options.index_patience, state_->calls);
  if (state_->store.exists(key)) return {};
  return fail(ErrorCode::not_found,
              fmt::format("the entry {} is not there: it was evicted or removed before it was pinned", key.hex()));
}

Expected<void> Maintenance::unpin(const Key& key) {
  if (auto writable = state_->require_writable(); !writable) return writable;
  const auto dropped = drop_pin(state_->calls, state_->root.layout, key);
  if (!dropped) return propagate(dropped);
  if (*dropped) return {};
  return fail(ErrorCode::not_found, fmt::format("the entry {} is not pinned", key.hex()));
}

}  // namespace cubinet::cache
