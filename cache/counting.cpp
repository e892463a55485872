// Counting what is asked of a cabinet, off the path of its look-ups.
#include <exception>

#include "cache/cabinet_state.hpp"
#include "cache/rows.hpp"

namespace cubinet::cache {

Cabinet::State::~State() {
  if (!writable()) return;
  try {
    const Counters left = tally.take();
    if (left != Counters()) static_cast<void>(index.apply({.counted = left}));
  } catch (const std::exception&) {  // no memory: the last moments are lost
  }
}

Expected<Totals> Cabinet::State::write(IndexChange change) const {
  tally.add(change.counted);
  change.counted = tally.take();
  auto totals = index.apply(change);
  if (!totals) tally.add(change.counted);
  return totals;
}

Expected<Counters> Cabinet::State::counters() const {
  if (!writable()) return index.counters_unchanged();
  static_cast<void>(write({}));
  return index.counters();
}

void Cabinet::record_hits(const std::vector<Key>& keys) {
  if (!state_->writable() || keys.empty()) return;
  const std::int64_t now = state_->clock.seconds();
  state_->tally.add({.hits = static_cast<std::int64_t>(keys.size())});
  const Counters counted = state_->tally.take();
  const auto without_row = state_->index.add_hits(keys, now, counted);
  if (!without_row) state_->tally.add(counted);
  if (!without_row || without_row->empty()) return;
  IndexChange change;
  std::vector<Key> present;
  for (const Key& key : *without_row) {
    const auto object = state_->read_or_promote(key);
    if (!object) continue;
    change.put.push_back(make_entry(key, state_->store.size(key), *object, nullptr));
    present.push_back(key);
  }
  const auto totals = state_->write(std::move(change));
  if (!totals) return;
  static_cast<void>(state_->index.add_hits(present, now, {}));
  state_->keep_within_limits(*totals);
}

void Cabinet::record_misses(const std::vector<Key>& keys) {
  if (!state_->writable() || keys.empty()) return;
  const auto count = static_cast<std::int64_t>(keys.size());
  static_cast<void>(state_->write({.missed = keys, .counted = {.misses = count}}));
}

std::optional<Object> Cabinet::State::read_or_promote(const Key& key) const {
  auto object = store.read(key);
  if (object) return std::move(*object);
  if (!promote) return std::nullopt;
  BestObject best(surroundings.preference);
  offer_layers(key, best);
  auto lower = best.take();
  if (lower && !store_object(key, *lower)) lower.reset();
  return lower;
}

}  // namespace cubinet::cache
