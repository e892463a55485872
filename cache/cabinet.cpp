#include "cache/cabinet.hpp"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "cache/cabinet_state.hpp"

namespace cubinet::cache {

std::string_view persistence_name(Persistence persistence) {
  switch (persistence) {
    case Persistence::on:
      return "on";
    case Persistence::readonly:
      return "readonly";
    case Persistence::off:
      return "off";
  }
  return "off";
}

Expected<void> CabinetState::require_writable() const {
  if (writable()) return {};
  return fail(ErrorCode::cache_unusable,
              fmt::format("the cabinet {} is read-only: {}", root.layout.root.native(), root.readonly_reason));
}

Expected<void> CabinetState::require_whole() const {
  return require_writable().and_then([this] { return restore_root(root.layout, calls); });
}

std::optional<Object> CabinetState::read(const Key& key, const Preference& preference) const {
  BestObject best(preference);
  auto object = first().read(key);
  if (object) {
    best.offer(std::move(*object));
  } else if (is_damage(object.error()) && writable() && store.set_damaged_aside(key).value_or(false)) {
    ++set_aside;
    pending.add({.damage = 1});
  }
  offer_layers(key, best);
  return best.take();
}

void CabinetState::offer_layers(const Key& key, BestObject& best) const {
  for (const auto& layer : layers) {
    if (best.is_settled()) return;
    if (auto object = layer->read(key); object) best.offer(std::move(*object));
  }
}

bool CabinetState::exists(const Key& key) const {
  return first().exists(key) ||
         std::any_of(layers.begin(), layers.end(), [&](const auto& layer) { return layer->exists(key); });
}

Cabinet::Cabinet(std::shared_ptr<CabinetState> state) : state_(std::move(state)) {}
Cabinet::Cabinet(Cabinet&&) noexcept = default;
Cabinet& Cabinet::operator=(Cabinet&&) noexcept = default;
Cabinet::~Cabinet() = default;

Expected<Cabinet> Cabinet::open(const std::filesystem::path& root, bool create, CabinetOptions options) {
  auto opened = open_root(root, create, options.calls);
  if (!opened) return propagate(opened);
  return Cabinet(std::make_shared<CabinetState>(std::move(*opened), options));
}

Expected<OpenedCabinet> Cabinet::open_stack(const std::filesystem::path& root, bool create,
                                            const std::vector<std::filesystem::path>& layers, CabinetOptions options) {
  std::optional<Cabinet> cabinet;
  std::vector<Error> errors;
  if (!root.empty()) {
    auto opened = open(root, create, options);
    if (opened) cabinet.emplace(std::move(*opened));
    if (!opened) errors.push_back(std::move(opened.error()));
  }
  for (const std::filesystem::path& layer : layers) {
    auto opened = open_folder_or_bundle(layer, options);
    if (!opened) {
      errors.push_back(std::move(opened.error()));
      continue;
    }
    if (cabinet) {
      cabinet->state_->layers.push_back(std::move(opened->layer));
    } else {
      auto bundle = opened->is_bundle ? std::move(opened->layer) : nullptr;
      cabinet.emplace(Cabinet(std::make_shared<CabinetState>(std::move(opened->root), options, std::move(bundle))));
    }
  }
  if (!cabinet && errors.empty()) return fail(ErrorCode::cache_unusable, "no folder is named for the cabinet");
  if (!cabinet) return fail(std::move(errors.front()));
  OpenedCabinet stack{std::move(*cabinet), {}};
  for (Error& error : errors) stack.problems.push_back(std::move(error.message));
  return stack;
}

const std::filesystem::path& Cabinet::root() const { return state_->root.layout.root; }
Persistence Cabinet::persistence() const { return state_->root.persistence; }
const std::string& Cabinet::readonly_reason() const { return state_->root.readonly_reason; }
const std::string& Cabinet::notice() const { return state_->root.notice; }

std::optional<Object> CabinetState::read(const Key& key) const { return read(key, options.preference); }

std::optional<Object> Cabinet::find(const Key& key, std::string_view record) const {
  auto object = state_->read(key);
  // A sound object with another record: the caller's record does not belong to the key. That is not damage.
  if (object && object->record != record) return std::nullopt;
  return object;
}

std::optional<Object> Cabinet::find_any(const Key& key, std::string_view record) const {
  const Preference any;
  auto object = state_->read(key, any);
  if (object && object->record != record) return std::nullopt;
  return object;
}

bool Cabinet::holds(const Key& key) const { return state_->read(key).has_value(); }

std::int64_t Cabinet::set_aside() const { return state_->set_aside; }

Claim Cabinet::claim(const Key& key) const {
  // No lock file is created in a root that was removed.
  const bool usable = state_->writable() && is_there(state_->root.layout.format());
  return usable ? Claim::attempt(state_->root.layout, key, state_->calls) : Claim();
}

bool Cabinet::takes(const Key& key, const Facts& facts) const {
  const auto present = state_->first().read(key);
  return !present || is_better(state_->options.preference, facts, present->facts);
}

// The row of an entry that is replaced is made unsound first: if the writer is killed before it has written the new
// row, the next listing reads the object.
Expected<util::Published> CabinetState::store_object(const Key& key, const Object& object) const {
  return store.publish(key, object, [&](const Facts& present) {
    if (!is_better(options.preference, object.facts, present)) return false;
    static_cast<void>(index.distrust(key));
    return true;
  });
}

Expected<void> Cabinet::publish(const Key& key, const Object& object, Origin origin) {
  if (auto writable = state_->require_writable(); !writable) return writable;
  IndexChange change;
  if (origin == Origin::compiled) {
    change.missed = {key};
    change.counted = {.misses = 1, .compiles = 1};
  }
  const auto published =
      restore_root(state_->root.layout, state_->calls).and_then([&] { return state_->store_object(key, object); });
  if (!published) {
    state_->pending.add(change.counted);
    return propagate(published);
  }
  if (*published == util::Published::first) {
    change.put = {make_entry(key, state_->store.size(key), object)};
    // A copied entry may have been compiled long ago elsewhere; here it counts as used now.
    if (origin == Origin::copied) change.put.front().last_used = state_->clock.seconds();
  } else if (origin == Origin::copied) {
    return {};
  }
  // Best effort: the next listing adds a missing row.
  if (const auto totals = state_->write(std::move(change))) {
    state_->keep_within_limits(*totals);
  } else if (state_->index.lacks_locks()) {
    state_->keep_within_limits(state_->measure());
  }
  return {};
}

// Counters.

CabinetState::~CabinetState() {
  if (!writable()) return;
  try {
    const Counters left = pending.take();
    if (left != Counters()) static_cast<void>(index.apply({.counted = left}));
  } catch (const std::exception&) {  // out of memory: the last counts are lost
  }
}

Expected<Totals> CabinetState::write(IndexChange change) const {
  pending.add(change.counted);
  change.counted = pending.take();
  auto totals = index.apply(change);
  if (!totals) pending.add(change.counted);
  return totals;
}

Expected<Counters> CabinetState::counters() const {
  if (!writable()) return index.counters_unchanged();
  static_cast<void>(write({}));
  return index.counters();
}

void Cabinet::record_hits(const std::vector<Key>& keys) {
  if (!state_->writable() || keys.empty()) return;
  const std::int64_t now = state_->clock.seconds();
  state_->pending.add({.hits = static_cast<std::int64_t>(keys.size())});
  const Counters counted = state_->pending.take();
  const auto without_row = state_->index.add_hits(keys, now, counted);
  if (!without_row) state_->pending.add(counted);
  if (!without_row || without_row->empty()) return;
  IndexChange change;
  std::vector<Key> present;
  for (const Key& key : *without_row) {
    const auto object = state_->read_or_promote(key);
    if (!object) continue;
    change.put.push_back(make_entry(key, state_->store.size(key), *object));
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

std::optional<Object> CabinetState::read_or_promote(const Key& key) const {
  auto object = store.read(key);
  if (object) return std::move(*object);
  if (!options.promote) return std::nullopt;
  BestObject best(options.preference);
  offer_layers(key, best);
  auto lower = best.take();
  if (lower && !store_object(key, *lower)) lower.reset();
  return lower;
}

Expected<void> Cabinet::record_problems(const std::vector<RecordedProblem>& asked) {
  if (auto writable = state_->require_writable(); !writable) return writable;
  const std::int64_t now = state_->clock.seconds();
  const auto news = unrecorded(state_->root.layout, asked, now);
  if (news.empty()) return {};
  return state_->require_whole().and_then(
      [&] { return cache::record_problems(state_->calls, state_->root.layout, news, now); });
}

std::unique_ptr<Lease> Cabinet::lease() const {
  return state_->writable() ? std::make_unique<Lease>(state_->root.layout, state_->calls) : nullptr;
}

}  // namespace cubinet::cache
