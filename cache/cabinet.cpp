#include "cache/cabinet.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cache/cabinet_state.hpp"
#include "cache/pins.hpp"
#include "cache/rows.hpp"

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

Expected<void> Cabinet::State::require_writable() const {
  if (writable()) return {};
  return fail(ErrorCode::cache_unusable,
              fmt::format("the cabinet {} is read-only: {}", root.layout.root.native(), root.readonly_reason));
}

Expected<void> Cabinet::State::require_whole() const {
  return require_writable().and_then([this] { return restore_root(root.layout, calls); });
}

std::optional<Object> Cabinet::State::read(const Key& key, const Preference& preference) const {
  BestObject best(preference);
  auto object = first().read(key);
  if (object) {
    best.offer(std::move(*object));
  } else if (is_damage(object.error()) && writable() && store.set_damaged_aside(key).value_or(false)) {
    ++set_aside;
    tally.add({.damage = 1});
  }
  offer_layers(key, best);
  return best.take();
}

void Cabinet::State::offer_layers(const Key& key, BestObject& best) const {
  for (const auto& layer : layers) {
    if (best.is_settled()) return;
    if (auto object = layer->read(key); object) best.offer(std::move(*object));
  }
}

bool Cabinet::State::exists(const Key& key) const {
  return first().exists(key) ||
         std::any_of(layers.begin(), layers.end(), [&](const auto& layer) { return layer->exists(key); });
}

Cabinet::Cabinet(std::unique_ptr<State> state) : state_(std::move(state)) {}
Cabinet::Cabinet(Cabinet&&) noexcept = default;
Cabinet& Cabinet::operator=(Cabinet&&) noexcept = default;
Cabinet::~Cabinet() = default;

Expected<Cabinet> Cabinet::open(const std::filesystem::path& root, bool create, Surroundings surroundings) {
  auto opened = open_root(root, create, surroundings.calls);
  if (!opened) return propagate(opened);
  return Cabinet(std::make_unique<State>(std::move(*opened), surroundings));
}

Expected<Stack> Cabinet::open_stack(const std::filesystem::path& root, bool create,
                                    const std::vector<std::filesystem::path>& layers, Surroundings surroundings) {
  std::optional<Cabinet> cabinet;
  std::vector<Error> errors;
  if (!root.empty()) {
    auto opened = open(root, create, surroundings);
    if (opened) cabinet.emplace(std::move(*opened));
    if (!opened) errors.push_back(std::move(opened.error()));
  }
  for (const std::filesystem::path& layer : layers) {
    auto opened = open_folder_or_bundle(layer, surroundings);
    if (!opened) {
      errors.push_back(std::move(opened.error()));
      continue;
    }
    if (cabinet) {
      cabinet->state_->layers.push_back(std::move(opened->layer));
    } else {
      auto bundle = opened->is_bundle ? std::move(opened->layer) : nullptr;
      cabinet.emplace(Cabinet(std::make_unique<State>(std::move(opened->root), surroundings, std::move(bundle))));
    }
  }
  if (!cabinet && errors.empty()) return fail(ErrorCode::cache_unusable, "no folder is named for the cabinet");
  if (!cabinet) return fail(std::move(errors.front()));
  Stack stack{std::move(*cabinet), {}};
  for (Error& error : errors) stack.problems.push_back(std::move(error.message));
  return stack;
}

const std::filesystem::path& Cabinet::root() const { return state_->root.layout.root; }
Persistence Cabinet::persistence() const { return state_->root.persistence; }
const std::string& Cabinet::readonly_reason() const { return state_->root.readonly_reason; }
const std::string& Cabinet::notice() const { return state_->root.notice; }

Expected<void> Cabinet::add_layer(const std::filesystem::path& path) {
  auto opened = open_folder_or_bundle(path, state_->surroundings);
  if (!opened) return propagate(opened);
  state_->layers.push_back(std::move(opened->layer));
  return {};
}

std::optional<Object> Cabinet::State::read(const Key& key) const { return read(key, surroundings.preference); }

std::optional<Object> Cabinet::find(const Key& key, std::string_view record) const {
  auto object = state_->read(key);
  // A whole object of this key with another record: the caller's record is not the key's. Nothing is damaged.
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

bool Cabinet::exists(const Key& key) const { return state_->first().exists(key); }

std::int64_t Cabinet::set_aside() const { return state_->set_aside; }

Claim Cabinet::claim(const Key& key) const {
  // Nothing is made in a root that was removed.
  const bool usable = state_->writable() && is_there(state_->root.layout.format());
  return usable ? Claim::attempt(state_->root.layout, key, state_->calls) : Claim();
}

bool Cabinet::takes(const Key& key, const Facts& facts) const {
  const auto present = state_->first().read(key);
  return !present || is_better(state_->surroundings.preference, facts, present->facts);
}

// A row that describes the entry before goes on doing so where the writer is killed between the two: so it is made
// unsound first, and the next listing reads the object.
Expected<util::Published> Cabinet::State::store_object(const Key& key, const Object& object) const {
  return store.publish(key, object, [&](const Facts& present) {
    if (!is_better(surroundings.preference, object.facts, present)) return false;
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
    state_->tally.add(change.counted);
    return propagate(published);
  }
  if (*published == util::Published::first) {
    change.put = {make_entry(key, state_->store.size(key), object, nullptr)};
    // It may have been made long ago, elsewhere; here it is new.
    if (origin == Origin::copied) change.put.front().last_used = state_->clock.seconds();
  } else if (origin == Origin::copied) {
    return {};
  }
  // Best effort: list() adds a row that is missing.
  if (const auto totals = state_->write(std::move(change))) {
    state_->keep_within_limits(*totals);
  } else if (state_->index.lacks_locks()) {
    state_->keep_within_limits(state_->measure());
  }
  return {};
}

Expected<void> Cabinet::check(const Key& key) const {
  const auto object = load(key);
  if (object) return {};
  return propagate(object);
}

Expected<Object> Cabinet::load(const Key& key) const {
  auto object = state_->first().read(key);
  if (object || !is_damage(object.error())) return object;
  // A bundle names itself.
  if (state_->bundle) return object;
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("the object {} is damaged: {}", state_->root.layout.object(key).native(), object.error().message));
}

Expected<std::vector<Key>> Cabinet::evicted() const { return state_->index.evicted_unchanged(); }

Expected<std::vector<Coverage>> Cabinet::coverage() {
  return state_->writable() ? state_->index.coverage() : state_->index.coverage_unchanged();
}

Expected<void> Cabinet::record_coverage(const std::string& subject, std::vector<Key> keys) {
  if (auto whole = state_->require_whole(); !whole) return whole;
  std::sort(keys.begin(), keys.end());
  const auto gone = std::find_if_not(keys.begin(), keys.end(), [&](const Key& key) { return state_->exists(key); });
  if (gone != keys.end()) {
    return fail(ErrorCode::not_found, fmt::format("the entry {} is not there any more in {}", gone->hex(),
                                                  state_->root.layout.root.native()));
  }
  return state_->index.put_coverage({subject, std::move(keys), state_->clock.seconds()});
}

void Cabinet::drop_coverage(const std::vector<Coverage>& coverages) {
  if (state_->writable() && !coverages.empty()) static_cast<void>(state_->index.drop_coverage(coverages));
}

Expected<Removal> Cabinet::remove(const Key& key) {
  if (auto writable = state_->require_writable(); !writable) return propagate(writable);
  const auto object = state_->store.remove(key);
  if (!object) return propagate(object);
  static_cast<void>(drop_pin(state_->calls, state_->root.layout, key));
  const auto row = state_->index.erase(key);
  const bool lacks_row = !row && !state_->index.lacks_locks();  // without locks there are no rows
  if (lacks_row && !*object) return propagate(row);
  if (lacks_row) return Removal{row.error().message};
  if (*object || row.value_or(false)) return Removal{};
  return fail(ErrorCode::not_found, fmt::format("there is no entry {}", key.hex()));
}

}  // namespace cubinet::cache
