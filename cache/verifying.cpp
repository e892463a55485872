// Compares every object with its footer and with the index, and repairs differences.
#include "cache/cabinet_state.hpp"
#include "cache/quarantine.hpp"

namespace cubinet::cache {
namespace {

bool is_busy(const Index::Outcome& rows) { return !rows && rows.error().failure == SqlFailure::busy; }

// Whether the index is a newer build's, or on a file system without locks: it is neither read nor repaired.
bool is_unused(const Index::Outcome& rows) {
  return !rows && (rows.error().failure == SqlFailure::newer || rows.error().failure == SqlFailure::no_locks);
}

// Null if the key has no row.
const Index::Row* find_row(const Index::Rows& rows, const Key& key) {
  const auto it = rows.find(key);
  return it == rows.end() ? nullptr : &it->second;
}

// Whether the row is sound and says what the entry does.
bool describes(const Index::Row* row, const Entry& entry) {
  return row != nullptr && row->sound && row->entry.bytes == entry.bytes && row->entry.record == entry.record &&
         row->entry.facts == entry.facts;
}

struct Checked {
  std::vector<Key> damaged;
  std::vector<Entry> undescribed;  // the rows that they should have
};

// Reads every object of the listing and fills in `checked`, `damaged`, `unreadable` and `orphans` of the report.
// Without rows (null) it does not look for orphans.
Checked check_objects(const Layer& place, const Layer::Listing& listing, const Index::Rows* rows,
                      VerifyReport& report) {
  Checked result;
  for (const auto& [key, bytes] : listing.objects) {
    const auto object = place.read(key);
    // It was removed after the listing was made.
    if (!object && object.error().code == ErrorCode::not_found) continue;
    ++report.checked;
    if (!object) {
      if (!is_damage(object.error())) {
        report.unreadable.push_back({key.hex(), object.error().message});
        continue;
      }
      report.damaged.push_back(key.hex());
      result.damaged.push_back(key);
      continue;
    }
    if (rows == nullptr) continue;
    const Index::Row* row = find_row(*rows, key);
    Entry entry = make_entry(key, bytes, *object, row == nullptr ? nullptr : &row->entry);
    if (describes(row, entry)) continue;
    ++report.orphans;
    report.orphan_keys.push_back(key);
    result.undescribed.push_back(std::move(entry));
  }
  report.unreadable.insert(report.unreadable.end(), listing.unreadable.begin(), listing.unreadable.end());
  for (const std::string& name : listing.strangers) report.damaged.push_back(name);
  return result;
}

// Moves damaged files to quarantine. Returns how many are still in place, and adds the keys without an object to
// `gone`.
std::int64_t set_all_aside(const ObjectStore& store, const Layer::Listing& listing, const Checked& checked,
                           std::vector<Key>& gone) {
  std::int64_t left = 0;
  for (const Key& key : checked.damaged) {
    static_cast<void>(store.set_damaged_aside(key));
    if (!store.exists(key)) {
      gone.push_back(key);
    } else if (!store.read(key)) {  // a sound one may have replaced it
      ++left;
    }
  }
  for (const std::string& name : listing.strangers) {
    if (!store.set_stranger_aside(name)) ++left;
  }
  return left;
}

// Checks problems/, and with `repair` moves damaged files to quarantine.
void check_problems(util::SystemCalls& calls, const Root& root, bool repair, VerifyReport& report) {
  const Layout& layout = root.layout;
  const auto problems = read_problems(layout, root.own_files_only);
  if (!problems) return report.unreadable.push_back({"problems", problems.error().message});
  for (const SkippedFile& skipped : problems->skipped) {
    const std::string name = "problems/" + skipped.name;
    if (!skipped.damaged) {
      report.unreadable.push_back({name, skipped.reason});
      continue;
    }
    report.damaged.push_back(name);
    if (!repair) continue;
    const auto path = layout.problems() / skipped.name;
    if (!set_aside(calls, layout, path, "problem-" + skipped.name) && is_there(path)) ++report.not_moved;
  }
}

}  // namespace

Expected<VerifyReport> Maintenance::verify(bool repair) {
  if (repair) {
    if (auto whole = state_->require_whole(); !whole) return propagate(whole);
  }
  const auto listing = state_->first().list();
  if (!listing) return propagate(listing);
  VerifyReport report;
  auto rows = state_->index.rows_unchanged();
  // Without objects a missing index is not a problem: it has not been created yet.
  const bool none_yet = !rows && rows.error().failure == SqlFailure::absent && listing->objects.empty();
  if (!rows && !none_yet) report.index_problem = rows.error().message;
  // This plays back the journal of a killed writer, and replaces a damaged file.
  if (!rows && repair && !is_busy(rows) && !is_unused(rows)) rows = state_->index.rows();
  report.index_busy = is_busy(rows);
  report.index_unused = is_unused(rows);
  const bool compared = !report.index_busy && !report.index_unused;
  if (report.index_busy) report.index_problem = rows.error().message;
  const Index::Rows known = rows.value_or(Index::Rows());
  std::vector<Key> gone = dangling(known, *listing, state_->first());
  report.missing = static_cast<std::int64_t>(gone.size());
  report.missing_keys = gone;
  const Checked checked = check_objects(state_->first(), *listing, compared ? &known : nullptr, report);
  report.leftovers = state_->store.leftovers(repair);
  if (!state_->bundle) check_problems(state_->calls, state_->root, repair, report);
  if (!repair) return report;
  report.not_moved += set_all_aside(state_->store, *listing, checked, gone);
  if (!compared || (checked.undescribed.empty() && gone.empty())) return report;
  const auto applied = state_->write({.put = checked.undescribed, .drop = gone});
  if (!applied) report.index_not_repaired = applied.error().message;
  return report;
}

}  // namespace cubinet::cache
