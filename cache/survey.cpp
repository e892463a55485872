// Listings and figures of a cabinet.
#include <algorithm>
#include <future>

#include <fmt/format.h>

#include "cache/cabinet_state.hpp"
#include "cache/pins.hpp"
#include "cache/quarantine.hpp"
#include "cache/rows.hpp"
#include "util/digest.hpp"

namespace cubinet::cache {
namespace {

// Fills in `entries` and `damaged` of the survey. Returns the entries whose rows are missing or wrong. What the rows
// hold is moved into the survey; their keys stay.
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
      changed.push_back(make_entry(key, bytes, *object, row));
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
  std::erase_if(survey.unreadable, [&](const Unreadable& one) {  // a folder has keys that begin so
    return !one.name.starts_with(prefix) && !prefix.starts_with(one.name);
  });
}

}  // namespace

Expected<Survey> Cabinet::State::take_survey(Looking looking) const {
  const bool may_change = looking == Looking::mends && writable();
  // Of 100,000 entries each takes a good part of a second. What changes between the two is looked at again below.
  auto reading = std::async([&] { return may_change ? index.rows() : index.rows_unchanged(); });
  const auto listing = first().list();
  auto read = reading.get();
  if (!listing) return propagate(listing);
  Index::Rows rows = read ? std::move(*read) : Index::Rows();
  Survey survey;
  // Where none could be made nobody has counted anything.
  if (!read && read.error().failure != SqlFailure::absent) survey.index_problem = read.error().message;
  const std::vector<Entry> changed = collect_entries(first(), *listing, rows, survey);
  const auto gone = dangling(rows, *listing, first());
  if (may_change && read && !(changed.empty() && gone.empty())) {
    static_cast<void>(write({.put = changed, .drop = gone}));
  }
  return survey;
}

Expected<void> Cabinet::State::mark_kept(std::vector<Entry>& entries) const {
  if (bundle) return {};  // of which nothing goes
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

Expected<Survey> Cabinet::survey(std::string_view key_prefix) {
  if (!util::is_hex(key_prefix)) {
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not the start of a key", key_prefix));
  }
  auto survey = state_->take_survey(State::Looking::mends);
  if (!survey) return survey;
  keep_matching(*survey, key_prefix);
  if (auto marked = state_->mark_kept(survey->entries); !marked) survey->kept_problem = marked.error().message;
  return survey;
}

Expected<Survey> Cabinet::survey_unchanged() const {
  auto survey = state_->take_survey(State::Looking::changes_nothing);
  if (!survey) return survey;
  if (auto marked = state_->mark_kept(survey->entries); !marked) survey->kept_problem = marked.error().message;
  return survey;
}

Expected<std::vector<Entry>> Cabinet::list() { return match({}); }

Expected<std::vector<Entry>> Cabinet::match(std::string_view key_prefix) {
  auto found = survey(key_prefix);
  if (!found) return propagate(found);
  return std::move(found->entries);
}

Expected<Stats> Cabinet::stats() {
  return survey().map([&](const Survey& found) { return stats(found); });
}

Stats Cabinet::stats(const Survey& survey) {
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

}  // namespace cubinet::cache
