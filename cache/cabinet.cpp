#include "cache/cabinet.hpp"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "cache/index.hpp"
#include "cache/layer.hpp"
#include "cache/object_store.hpp"
#include "cache/quarantine.hpp"
#include "cache/root.hpp"
#include "util/digest.hpp"

namespace cubinet::cache {

struct Cabinet::State {
  State(Root opened, Surroundings outside)
      : root(std::move(opened)),
        calls(root.giving ? *root.giving : outside.calls),
        surroundings(outside),
        clock(outside.clock),
        store(root.layout, calls),
        index(root.layout, calls, outside.index_patience) {}

  [[nodiscard]] bool writable() const { return root.persistence == Persistence::on; }
  // cache_unusable with the reason when nothing can be written here.
  [[nodiscard]] Expected<void> require_writable() const;
  // The whole object in the root, else in the first layer that has it. Damage is set aside in a root that can be
  // written.
  [[nodiscard]] std::optional<Object> read(const Key& key) const;
  // Whether there is a file of it anywhere, whole or not.
  [[nodiscard]] bool exists(const Key& key) const;

  Root root;
  util::SystemCalls& calls;
  Surroundings surroundings;
  const util::Clock& clock;
  ObjectStore store;
  Index index;
  std::vector<std::unique_ptr<Layer>> layers;
  mutable std::atomic<std::int64_t> set_aside = 0;  // what read() has
};

namespace {

Entry make_entry(const Key& key, std::int64_t bytes, const Object& object, const Index::Row* row) {
  Entry entry;
  entry.key = key;
  entry.facts = object.facts;
  entry.bytes = bytes;
  entry.record = object.record;
  if (row != nullptr) {
    entry.last_used = row->entry.last_used;
    entry.hits = row->entry.hits;
  }
  return entry;
}

const Index::Row* find_row(const Index::Rows& rows, const Key& key) {
  const auto it = rows.find(key);
  return it == rows.end() ? nullptr : &it->second;
}

bool describes(const Index::Row* row, const Entry& entry) {
  return row != nullptr && row->sound && row->entry.bytes == entry.bytes && row->entry.record == entry.record &&
         row->entry.facts == entry.facts;
}

// Keys with a row and no object. Looks again at each, since an object may have come after the listing was made.
std::vector<Key> dangling(const Index::Rows& rows, const ObjectStore::Listing& listing, const ObjectStore& store) {
  std::vector<Key> keys;
  for (const auto& [key, row] : rows) {
    if (!listing.objects.contains(key) && !store.exists(key)) keys.push_back(key);
  }
  return keys;
}

bool is_busy(const Index::Outcome& rows) { return !rows && rows.error().failure == SqlFailure::busy; }

bool is_damage(const Error& error) { return error.code == ErrorCode::invalid_argument; }

struct Checked {
  std::vector<Key> damaged;        // can be set aside; a file that cannot be read is reported only
  std::vector<Entry> undescribed;  // what their rows should say
  std::int64_t unreadable = 0;
};

// Reads every object of the listing and fills in `checked`, `damaged` and `orphans` of the report. Without rows (null)
// nothing is said about them.
Checked check_objects(const ObjectStore& store, const ObjectStore::Listing& listing, const Index::Rows* rows,
                      VerifyReport& report) {
  Checked result;
  for (const auto& [key, bytes] : listing.objects) {
    const auto object = store.read(key);
    // Removed since the listing was made.
    if (!object && object.error().code == ErrorCode::not_found) continue;
    ++report.checked;
    if (!object) {
      report.damaged.push_back(key.hex());
      if (is_damage(object.error())) {
        result.damaged.push_back(key);
      } else {
        ++result.unreadable;
      }
      continue;
    }
    if (rows == nullptr) continue;
    const Index::Row* row = find_row(*rows, key);
    Entry entry = make_entry(key, bytes, *object, row);
    if (describes(row, entry)) continue;
    ++report.orphans;
    result.undescribed.push_back(std::move(entry));
  }
  for (const std::string& name : listing.strangers) report.damaged.push_back(name);
  return result;
}

// Sets aside what is damaged. Returns how many things are where they were. `gone` gets the keys of which none is.
std::int64_t set_all_aside(const ObjectStore& store, const ObjectStore::Listing& listing, const Checked& checked,
                           std::vector<Key>& gone) {
  std::int64_t left = checked.unreadable;
  for (const Key& key : checked.damaged) {
    store.set_damaged_aside(key);
    if (!store.exists(key)) {
      gone.push_back(key);
    } else if (!store.read(key)) {  // a whole one may have come in its place
      ++left;
    }
  }
  for (const std::string& name : listing.strangers) {
    if (!store.set_stranger_aside(name)) ++left;
  }
  return left;
}

// Fills in `entries` and `damaged` of the survey. Returns the entries whose rows are missing or wrong.
std::vector<Entry> collect(const ObjectStore& store, const ObjectStore::Listing& listing, const Index::Rows& rows,
                           Survey& survey) {
  std::vector<Entry> changed;
  for (const auto& [key, bytes] : listing.objects) {
    const Index::Row* row = find_row(rows, key);
    if (row != nullptr && row->sound && row->entry.bytes == bytes) {
      survey.entries.push_back(row->entry);
      continue;
    }
    const auto object = store.read(key);
    if (object) {
      changed.push_back(make_entry(key, bytes, *object, row));
      survey.entries.push_back(changed.back());
    } else if (object.error().code != ErrorCode::not_found) {  // else removed since the listing was made
      survey.damaged.push_back(key.hex());
    }
  }
  survey.damaged.insert(survey.damaged.end(), listing.strangers.begin(), listing.strangers.end());
  return changed;
}

void keep_matching(Survey& survey, std::string_view key_prefix) {
  std::string prefix(key_prefix);
  for (char& c : prefix) c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  std::erase_if(survey.entries, [&](const Entry& entry) { return !entry.key.hex().starts_with(prefix); });
  std::erase_if(survey.damaged, [&](const std::string& name) { return !name.starts_with(prefix); });
}

}  // namespace

Expected<void> Cabinet::State::require_writable() const {
  if (writable()) return {};
  return fail(ErrorCode::cache_unusable,
              fmt::format("the cabinet {} is read-only: {}", root.layout.root.native(), root.readonly_reason));
}

std::optional<Object> Cabinet::State::read(const Key& key) const {
  auto object = store.read(key);
  if (object) return std::move(*object);
  if (is_damage(object.error()) && writable() && store.set_damaged_aside(key)) ++set_aside;
  for (const auto& layer : layers) {
    if (object = layer->read(key); object) return std::move(*object);
  }
  return std::nullopt;
}

bool Cabinet::State::exists(const Key& key) const {
  return store.exists(key) ||
         std::any_of(layers.begin(), layers.end(), [&](const auto& layer) { return layer->exists(key); });
}

Cabinet::Cabinet(std::unique_ptr<State> state) : state_(std::move(state)) {}
Cabinet::Cabinet(Cabinet&&) noexcept = default;
Cabinet& Cabinet::operator=(Cabinet&&) noexcept = default;
Cabinet::~Cabinet() = default;

Expected<Cabinet> Cabinet::open(const std::filesystem::path& root, bool create, Surroundings surroundings) {
  auto opened = open_root(root, create, surroundings.calls);
  if (!opened) return tl::make_unexpected(opened.error());
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
    const bool is_root = !cabinet && !opened->is_bundle;
    if (!cabinet) cabinet.emplace(Cabinet(std::make_unique<State>(std::move(opened->root), surroundings)));
    if (!is_root) cabinet->state_->layers.push_back(std::move(opened->layer));
  }
  if (!cabinet && errors.empty()) return fail(ErrorCode::cache_unusable, "no folder is named for the cabinet");
  if (!cabinet) return tl::make_unexpected(std::move(errors.front()));
  Stack stack{std::move(*cabinet), {}};
  for (Error& error : errors) stack.problems.push_back(std::move(error.message));
  return stack;
}

const std::filesystem::path& Cabinet::root() const { return state_->root.layout.root; }
Persistence Cabinet::persistence() const { return state_->root.persistence; }
const std::string& Cabinet::readonly_reason() const { return state_->root.readonly_reason; }

Expected<void> Cabinet::add_layer(const std::filesystem::path& path) {
  auto opened = open_folder_or_bundle(path, state_->surroundings);
  if (!opened) return tl::make_unexpected(std::move(opened.error()));
  state_->layers.push_back(std::move(opened->layer));
  return {};
}

std::optional<Object> Cabinet::find(const Key& key, std::string_view record) const {
  auto object = state_->read(key);
  // A whole object of this key with another record: the caller's record is not the key's. Nothing is damaged.
  if (object && object->record != record) return std::nullopt;
  return object;
}

bool Cabinet::holds(const Key& key) const { return state_->read(key).has_value(); }

std::int64_t Cabinet::set_aside() const { return state_->set_aside; }

Claim Cabinet::claim(const Key& key) const {
  return state_->writable() ? Claim::attempt(state_->root.layout, key, state_->calls) : Claim();
}

Expected<void> Cabinet::publish(const Key& key, const Object& object) {
  if (auto writable = state_->require_writable(); !writable) return writable;
  const auto published = state_->store.publish(key, object);
  if (!published) return tl::make_unexpected(published.error());
  if (*published == util::Published::already_there) return {};
  // Best effort: list() adds a row that is missing.
  static_cast<void>(state_->index.apply({make_entry(key, state_->store.size(key), object, nullptr)}, {}));
  return {};
}

void Cabinet::record_hits(const std::vector<Key>& keys) {
  if (!state_->writable() || keys.empty()) return;
  const std::int64_t now = state_->clock.seconds();
  const auto without_row = state_->index.add_hits(keys, now);
  if (!without_row || without_row->empty()) return;
  std::vector<Entry> entries;
  std::vector<Key> present;
  for (const Key& key : *without_row) {
    const auto object = state_->store.read(key);
    if (!object) continue;
    entries.push_back(make_entry(key, state_->store.size(key), *object, nullptr));
    present.push_back(key);
  }
  if (state_->index.apply(entries, {})) static_cast<void>(state_->index.add_hits(present, now));
}

Expected<Survey> Cabinet::survey(std::string_view key_prefix) {
  if (!util::is_hex(key_prefix)) {
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not the start of a key", key_prefix));
  }
  const auto listing = state_->store.list();
  if (!listing) return tl::make_unexpected(listing.error());
  const auto read = state_->writable() ? state_->index.rows() : state_->index.rows_unchanged();
  const Index::Rows rows = read.value_or(Index::Rows());
  Survey survey;
  // Where none could be made nobody has counted anything.
  if (!read && read.error().failure != SqlFailure::absent) survey.index_problem = read.error().message;
  const std::vector<Entry> changed = collect(state_->store, *listing, rows, survey);
  const auto gone = dangling(rows, *listing, state_->store);
  if (state_->writable() && read && !(changed.empty() && gone.empty())) {
    static_cast<void>(state_->index.apply(changed, gone));
  }
  keep_matching(survey, key_prefix);
  return survey;
}

Expected<std::vector<Entry>> Cabinet::list() { return match({}); }

Expected<std::vector<Entry>> Cabinet::match(std::string_view key_prefix) {
  auto found = survey(key_prefix);
  if (!found) return tl::make_unexpected(found.error());
  return std::move(found->entries);
}

Expected<void> Cabinet::check(const Key& key) const {
  const auto object = load(key);
  if (object) return {};
  return tl::make_unexpected(object.error());
}

Expected<Object> Cabinet::load(const Key& key) const {
  auto object = state_->store.read(key);
  if (object || !is_damage(object.error())) return object;
  return fail(ErrorCode::io, fmt::format("the object {} is damaged: {}", state_->root.layout.object(key).native(),
                                         object.error().message));
}

Expected<Stats> Cabinet::stats() {
  auto found = survey();
  if (!found) return tl::make_unexpected(found.error());
  Stats stats;
  stats.damaged = static_cast<std::int64_t>(found->damaged.size());
  stats.index_problem = std::move(found->index_problem);
  for (const Entry& entry : found->entries) {
    ++stats.entries;
    stats.bytes += entry.bytes;
    stats.hits += entry.hits;
    stats.compile_ms += entry.facts.compile_ms;
  }
  stats.quarantined = count_quarantined_objects(state_->root.layout);
  for (Coverage& one : coverage().value_or(std::vector<Coverage>())) {
    const bool whole =
        std::all_of(one.keys.begin(), one.keys.end(), [&](const Key& key) { return state_->exists(key); });
    if (whole) stats.coverage.push_back(std::move(one));
  }
  return stats;
}

Expected<std::vector<Coverage>> Cabinet::coverage() {
  return state_->writable() ? state_->index.coverage() : state_->index.coverage_unchanged();
}

Expected<void> Cabinet::record_coverage(const std::string& subject, std::vector<Key> keys) {
  if (auto writable = state_->require_writable(); !writable) return writable;
  std::sort(keys.begin(), keys.end());
  return state_->index.put_coverage({subject, std::move(keys), state_->clock.seconds()});
}

void Cabinet::drop_coverage(const std::vector<Coverage>& coverages) {
  if (state_->writable() && !coverages.empty()) static_cast<void>(state_->index.drop_coverage(coverages));
}

Expected<Removal> Cabinet::remove(const Key& key) {
  if (auto writable = state_->require_writable(); !writable) return tl::make_unexpected(writable.error());
  const auto object = state_->store.remove(key);
  if (!object) return tl::make_unexpected(object.error());
  const auto row = state_->index.erase(key);
  if (!row && !*object) return tl::make_unexpected(row.error());
  if (!row) return Removal{row.error().message};
  if (*object || *row) return Removal{};
  return fail(ErrorCode::not_found, fmt::format("there is no entry {}", key.hex()));
}

Expected<VerifyReport> Cabinet::verify(bool repair) {
  if (repair) {
    if (auto writable = state_->require_writable(); !writable) return tl::make_unexpected(writable.error());
  }
  const auto listing = state_->store.list();
  if (!listing) return tl::make_unexpected(listing.error());
  VerifyReport report;
  auto rows = state_->index.rows_unchanged();
  if (!rows) report.index_problem = rows.error().message;
  // The journal of a killed writer is played back here, and a damaged file replaced.
  if (!rows && repair && !is_busy(rows)) rows = state_->index.rows();
  report.index_busy = is_busy(rows);
  if (report.index_busy) report.index_problem = rows.error().message;
  const Index::Rows known = rows.value_or(Index::Rows());
  std::vector<Key> gone = dangling(known, *listing, state_->store);
  report.missing = static_cast<std::int64_t>(gone.size());
  const Checked checked = check_objects(state_->store, *listing, report.index_busy ? nullptr : &known, report);
  report.leftovers = state_->store.leftovers(repair);
  if (!repair) return report;
  report.unmended = set_all_aside(state_->store, *listing, checked, gone);
  if (report.index_busy || (checked.undescribed.empty() && gone.empty())) return report;
  if (auto applied = state_->index.apply(checked.undescribed, gone); !applied) {
    return tl::make_unexpected(applied.error());
  }
  return report;
}

}  // namespace cubinet::cache
