// The index: an SQLite table of what the objects' footers say, and of how often each was used; one of what the root is
// complete for; and what was asked of the root. It is never the truth. What is in it can be read back from the objects,
// except hits, last_used, the coverage and the counters, which are lost with it.
//
// Each call opens a connection and closes it, so nothing is held between calls and nothing crosses a fork. A file that
// is damaged, foreign or of an unknown earlier schema version is moved to quarantine/ and a new one started, by one
// process at a time; the caller then finds rows missing and puts them back. A file that a newer build has written is
// left alone. In a root that has lost its mark, or was removed, no file is made.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "cache/cabinet.hpp"
#include "cache/counter_table.hpp"
#include "cache/layout.hpp"
#include "cache/sqlite.hpp"
#include "util/system_calls.hpp"

namespace cubinet::cache {

// Version of the schema in index.cpp, kept in the database's user_version.
inline constexpr std::int64_t index_schema_version = 4;

// What is to be changed in one transaction.
struct IndexChange {
  std::vector<Entry> put{};  // rows to add or to bring up to date; hits and last_used of one that is there stay
  std::vector<Key> drop{};   // rows that go
  std::vector<Key>
      evicted{};  // rows that go, are remembered as evicted, and take with them the coverage that names them
  std::vector<Key> missed{};  // looked up among those that were evicted: evicted_misses
  std::vector<Key> ahead{};   // rows whose last_used becomes `now`
  std::int64_t now = 0;
  Counters counted{};  // to add
};

class Index {
 public:
  struct Row {
    Entry entry;
    // False when the row's digest does not fit its contents: only hits and last_used mean anything then.
    bool sound = true;
  };
  using Rows = std::map<Key, Row>;
  using Outcome = SqlExpected<Rows>;  // the message names the file

  // `patience`: for an index that another process holds. Who has waited that long in vain does not wait again: all
  // further calls look once whether it is free.
  Index(Layout layout, util::SystemCalls& calls, std::chrono::milliseconds patience)
      : layout_(std::move(layout)), calls_(calls), patience_(patience) {}

  // All rows, after a check of the file's structure. Makes or replaces the file when needed.
  [[nodiscard]] Outcome rows() const;
  // The same with no change on disk of any kind. An error when the file is missing or not fit to be read as it is.
  [[nodiscard]] Outcome rows_unchanged() const;

  // Returns how large the root is by the rows then.
  Expected<Totals> apply(const IndexChange& change) const;
  // Makes a row unsound, so that the next listing reads the object. It keeps its use.
  Expected<void> distrust(const Key& key) const;
  // Sums up anew how large the root is.
  Expected<void> recount() const;
  // Adds one hit at `now` to each key, and what was counted, in one transaction. Returns the keys that have no row.
  Expected<std::vector<Key>> add_hits(const std::vector<Key>& keys, std::int64_t now, const Counters& counted) const;
  // Removes a row. False when there was none.
  Expected<bool> erase(const Key& key) const;

  // Whether the index is not used since the root's file system keeps no locks. Known once a call has failed.
  [[nodiscard]] bool lacks_locks() const { return locks_ == Locks::none; }

  // See Cabinet; a row that is not sound is passed over.
  [[nodiscard]] Expected<std::vector<Coverage>> coverage() const;
  // The same with no change on disk of any kind.
  [[nodiscard]] Expected<std::vector<Coverage>> coverage_unchanged() const;
  // All 0 where the file is of a version that knew none, or missing where nothing may be changed.
  [[nodiscard]] Expected<Counters> counters() const;
  [[nodiscard]] Expected<Counters> counters_unchanged() const;
  // The keys that evictions removed and nobody has missed since, ascending, as far as they are remembered; with no
  // change on disk of any kind.
  [[nodiscard]] Expected<std::vector<Key>> evicted_unchanged() const;
  Expected<void> put_coverage(const Coverage& coverage) const;
  Expected<void> drop_coverage(const std::vector<Coverage>& coverages) const;

 private:
  template <class Work>
  auto with_database(Work work) const -> decltype(work(std::declval<Database&>()));
  template <class Work>
  auto change(Work work) const -> decltype(work(std::declval<Database&>()));
  template <class Work>
  auto with_database_unchanged(Work work) const -> decltype(work(std::declval<Database&>()));
  template <class T>
  Expected<T> read_since(std::int64_t first, SqlExpected<T> (*read)(Database&)) const;
  SqlExpected<void> replace_damaged() const;
  [[nodiscard]] SqlExpected<void> check_locks() const;
  [[nodiscard]] std::chrono::milliseconds patience() const;
  // The outcome, after keeping in mind that somebody else held the index.
  template <class T>
  SqlExpected<T> noted(SqlExpected<T> outcome) const;
  [[nodiscard]] SqlError described(SqlError error) const;
  template <class T>
  Expected<T> translate(SqlExpected<T> outcome) const;

  Layout layout_;
  util::SystemCalls& calls_;
  std::chrono::milliseconds patience_;
  mutable std::atomic<bool> waited_in_vain_ = false;
  enum class Locks : std::uint8_t { unknown, kept, none };
  mutable std::atomic<Locks> locks_ = Locks::unknown;
};

}  // namespace cubinet::cache
