// Comparing every object with its footer and with the index, and mending what differs.
#include "cache/cabinet_state.hpp"
#include "cache/quarantine.hpp"
#include "cache/rows.hpp"

namespace cubinet::cache {
namespace {

bool is_busy(const Index::Outcome& rows) { return !rows && rows.error().failure == SqlFailure::busy; }

// A newer build's, or one on a file system without locks: neither read nor mended.
bool is_unused(const Index::Outcome& rows) {
  return !rows && (rows.error().failure == SqlFailure::newer || rows.error().failure == SqlFailure::no_locks);
}

struct Checked {
  std::vector<Key> damaged;
  std::vector<Entry> undescribed;  // what their rows should say
};

// Reads every object of the listing and fills in `checked`, `damaged`, `unreadable` and `orphans` of the report.
// Without rows (null) nothing is said about them.
Checked check_objects(const Layer& place, const Layer::Listing& listing, const Index::Rows* rows,
                      VerifyReport& report) {
  Checked result;
  for (const auto& [key, bytes] : listing.objects) {
    const auto object = place.read(key);
    // Removed since the listing was made.
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
    Entry entry = make_entry(key, bytes, *object, row);
    if (describes(row, entry)) continue;
    ++report.orphans;
    report.orphan_keys.push_back(key);
    result.undescribed.push_back(std::move(entry));
  }
  report.unreadable.insert(report.unreadable.end(), listing.unreadable.begin(), listing.unreadable.end());
  for (const std::string& name : listing.strangers) report.damaged.push_back(name);
  return result;
}

// Sets aside what is damaged. Returns how many things are where they were. `gone` gets the keys of which none is.
std::int64_t set_all_aside(const ObjectStore& store, const Layer::Listing& listing, const Checked& checked,
                           std::vector<Key>& gone) {
  std::int64_t left = 0;
  for (const Key& key : checked.damaged) {
    static_cast<void>(store.set_damaged_aside(key));
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

// Looks into problems/, and with `repair` sets aside what is damaged there.
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
    if (!set_aside(calls, layout, path, "problem-" + skipped.name) && is_there(path)) ++report.unmended;
  }
}

}  // namespace

Expected<VerifyReport> Cabinet::verify(bool repair) {
  if (repair) {
    if (auto whole = state_->require_whole(); !whole) return propagate(whole);
  }
  const auto listing = state_->first().list();
  if (!listing) return propagate(listing);
  VerifyReport report;
  auto rows = state_->index.rows_unchanged();
  // Where there is no object either, nobody has made one yet.
  const bool none_yet = !rows && rows.error().failure == SqlFailure::absent && listing->objects.empty();
  if (!rows && !none_yet) report.index_problem = rows.error().message;
  // The journal of a killed writer is played back here, and a damaged file replaced.
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
  report.unmended += set_all_aside(state_->store, *listing, checked, gone);
  if (!compared || (checked.undescribed.empty() && gone.empty())) return report;
  const auto applied = state_->write({.put = checked.undescribed, .drop = gone});
  if (!applied) report.index_unmended = applied.error().message;
  return report;
}

}  // namespace cubinet::cache
