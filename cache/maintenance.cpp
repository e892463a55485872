// Listings, figures, coverage records, recorded problems, and removal of single entries.
#include <algorithm>
#include <future>

#include <fmt/format.h>

#include "cache/cabinet_state.hpp"
#include "cache/kept_entries.hpp"
#include "cache/quarantine.hpp"
#include "util/digest.hpp"

namespace cubinet::cache {
namespace {

// Fills in entries, damaged and unreadable of the survey. Returns the entries whose rows are missing or wrong. Moves
// the rows' contents into the survey, except the keys.
std::vector<Entry> collect_entries(const Layer& place, const Layer::Listing& listing, Index::Rows& rows,
                                   Survey& survey) {
  std::vector<Entry> changed;
  survey.entries.reserve(listing.objects.size());
  auto found = rows.begin();
  for (const auto& [key, bytes] : listing.objects) {
    while (found != rows.end() && found->first < key) ++found;
    Index::Row* row = found == rows.end() || found->first != key ? nullptr : &found->second;
    if (row != nullptr && row->sound && row->entry.bytes == bytes) {
      survey.entries.push_back(std::move(row->entry));
      continue;
    }
    const auto object = place.read(key);
    if (object) {
      changed.push_back(make_entry(key, bytes, *object, row == nullptr ? nullptr : &row->entry));
      survey.entries.push_back(changed.back());
    } else if (is_damage(object.error())) {
      survey.damaged.push_back(key.hex());
    } else if (object.error().code != ErrorCode::not_found) {  // else removed since the listing was made
      survey.unreadable.push_back({key.hex(), object.error().message});
    }
  }
  survey.unreadable.insert(survey.unreadable.end(), listing.unreadable.begin(), listing.unreadable.end());
  survey.damaged.insert(survey.damaged.end(), listing.strangers.begin(), listing.strangers.end());
  return changed;
}

void keep_matching(Survey& survey, std::string_view key_prefix) {
  if (key_prefix.empty()) return;
  std::string prefix(key_prefix);
  for (char& c : prefix) c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  std::erase_if(survey.entries, [&](const Entry& entry) { return !entry.key.hex().starts_with(prefix); });
  std::erase_if(survey.damaged, [&](const std::string& name) { return !name.starts_with(prefix); });
  std::erase_if(survey.unreadable, [&](const Unreadable& one) {  // a folder may hold such keys
    return !one.name.starts_with(prefix) && !prefix.starts_with(one.name);
  });
}

}  // namespace

std::vector<Key> dangling(const Index::Rows& rows, const Layer::Listing& listing, const Layer& place) {
  std::vector<Key> keys;
  auto object = listing.objects.begin();
  for (const auto& [key, row] : rows) {
    while (object != listing.objects.end() && object->first < key) ++object;
    const bool listed = object != listing.objects.end() && object->first == key;
    if (!listed && !place.exists(key)) keys.push_back(key);
  }
  return keys;
}

Expected<Survey> CabinetState::take_survey(SurveyMode mode) const {
  const bool may_change = mode == SurveyMode::updates_index && writable();
  // For 100,000 entries each takes about half a second, so they run at the same time. What changes in between is
  // checked again below.
  auto reading = std::async([&] { return may_change ? index.rows() : index.rows_unchanged(); });
  const auto listing = first().list();
  auto read = reading.get();
  if (!listing) return propagate(listing);
  Index::Rows rows = read ? std::move(*read) : Index::Rows();
  Survey survey;
  // A missing index in a root that cannot be written is not a problem.
  if (!read && read.error().failure != SqlFailure::absent) survey.index_problem = read.error().message;
  const std::vector<Entry> changed = collect_entries(first(), *listing, rows, survey);
  const auto gone = dangling(rows, *listing, first());
  if (may_change && read && !(changed.empty() && gone.empty())) {
    static_cast<void>(write({.put = changed, .drop = gone}));
  }
  return survey;
}

Expected<void> CabinetState::mark_kept(std::vector<Entry>& entries) const {
  if (bundle) return {};  // nothing is evicted from a bundle
  const auto pins = read_pins(root.layout);
  if (!pins) return propagate(pins);
  const auto leases = read_leases(root.layout);
  if (!leases) return propagate(leases);
  for (Entry& entry : entries) {
    entry.pinned = pins->contains(entry.key);
    entry.in_use = leases->contains(entry.key);
  }
  return {};
}

Expected<Maintenance> Maintenance::open(const std::filesystem::path& root, CabinetOptions options) {
  return Cabinet::open(root, false, std::move(options)).map([](const Cabinet& cabinet) {
    return Maintenance(cabinet);
  });
}

const std::filesystem::path& Maintenance::root() const { return state_->root.layout.root; }
Persistence Maintenance::persistence() const { return state_->root.persistence; }

Expected<Survey> Maintenance::survey(std::string_view key_prefix) {
  if (!util::is_hex(key_prefix)) {
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not the start of a key", key_prefix));
  }
  auto survey = state_->take_survey(CabinetState::SurveyMode::updates_index);
  if (!survey) return survey;
  keep_matching(*survey, key_prefix);
  if (auto marked = state_->mark_kept(survey->entries); !marked) survey->kept_problem = marked.error().message;
  return survey;
}

Expected<Survey> Maintenance::survey_unchanged() const {
  auto survey = state_->take_survey(CabinetState::SurveyMode::changes_nothing);
  if (!survey) return survey;
  if (auto marked = state_->mark_kept(survey->entries); !marked) survey->kept_problem = marked.error().message;
  return survey;
}

Expected<Stats> Maintenance::stats() {
  return survey().map([&](const Survey& found) { return stats(found); });
}

Stats Maintenance::stats(const Survey& survey) {
  Stats stats;
  stats.damaged = static_cast<std::int64_t>(survey.damaged.size());
  stats.unreadable = survey.unreadable;
  stats.index_problem = survey.index_problem;
  for (const Entry& entry : survey.entries) {
    ++stats.entries;
    stats.bytes += entry.bytes;
    stats.hits += entry.hits;
    stats.compile_ms += entry.facts.compile_ms;
    ++stats.compilers[entry.facts.compiler];
  }
  if (stats.index_problem.empty()) {
    const auto counters = state_->counters();
    if (counters) stats.counters = *counters;
    if (!counters) stats.index_problem = counters.error().message;
  }
  const Quarantined quarantine = measure_quarantine(state_->root.layout);
  stats.quarantined = quarantine.objects;
  stats.quarantine_files = quarantine.files;
  stats.quarantine_bytes = quarantine.bytes;
  for (Coverage& one : coverage().value_or(std::vector<Coverage>())) {
    const bool whole =
        std::all_of(one.keys.begin(), one.keys.end(), [&](const Key& key) { return state_->exists(key); });
    if (whole) stats.coverage.push_back(std::move(one));
  }
  return stats;
}

Expected<void> Maintenance::check(const Key& key) const {
  const auto object = load(key);
  if (object) return {};
  return propagate(object);
}

Expected<Object> Maintenance::load(const Key& key) const {
  auto object = state_->first().read(key);
  if (object || !is_damage(object.error())) return object;
  // An error of a bundle names the file already.
  if (state_->bundle) return object;
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("the object {} is damaged: {}", state_->root.layout.object(key).native(), object.error().message));
}

Expected<std::vector<Coverage>> Maintenance::coverage() {
  return state_->writable() ? state_->index.coverage() : state_->index.coverage_unchanged();
}

Expected<void> Maintenance::record_coverage(const std::string& subject, std::vector<Key> keys) {
  if (auto whole = state_->require_whole(); !whole) return whole;
  std::sort(keys.begin(), keys.end());
  const auto gone = std::find_if_not(keys.begin(), keys.end(), [&](const Key& key) { return state_->exists(key); });
  if (gone != keys.end()) {
    return fail(ErrorCode::not_found, fmt::format("the entry {} is not there any more in {}", gone->hex(),
                                                  state_->root.layout.root.native()));
  }
  return state_->index.put_coverage({subject, std::move(keys), state_->clock.seconds()});
}

void Maintenance::drop_coverage(const std::vector<Coverage>& coverages) {
  if (state_->writable() && !coverages.empty()) static_cast<void>(state_->index.drop_coverage(coverages));
}

Expected<Removal> Maintenance::remove(const Key& key) {
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

Expected<std::vector<Key>> Maintenance::evicted() const { return state_->index.evicted_unchanged(); }

bool Maintenance::exists(const Key& key) const { return state_->first().exists(key); }

Expected<RecordedProblems> Maintenance::recorded_problems() const {
  if (state_->bundle) return RecordedProblems{};
  return read_problems(state_->root.layout, state_->root.own_files_only);
}

Expected<bool> Maintenance::forget_problem(const std::string& subject) {
  if (auto writable = state_->require_writable(); !writable) return propagate(writable);
  return cache::forget_problem(state_->calls, state_->root.layout, subject);
}

}  // namespace cubinet::cache
