// The index: an SQLite database with what the objects' footers say and how often each entry was used, the coverage
// records, and the counters. The objects are the truth: everything can be rebuilt from them except hits, last_used, the
// coverage records and the counters, which are lost with the index.
//
// Each call opens a connection and closes it, so that nothing is held between calls and nothing crosses a fork. A file
// that is damaged, foreign or of an unknown earlier schema version is moved to quarantine/ and replaced by an empty
// one, by one process at a time; the caller then finds rows missing and adds them. A file that a newer build has
// written is not changed. No file is created in a root that was removed or has lost its FORMAT.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "cache/counters.hpp"
#include "cache/entry.hpp"
#include "cache/layout.hpp"
#include "cache/sqlite.hpp"
#include "util/system_calls.hpp"

namespace cubinet::cache {

// Version of the schema, stored in the database's user_version.
inline constexpr std::int64_t index_schema_version = 4;

// The size of the root by the rows of the index.
struct Totals {
  std::int64_t entries = 0;
  std::int64_t bytes = 0;
};

// Changes that Index::apply makes in one transaction.
struct IndexChange {
  std::vector<Entry> put{};  // rows to add or update; an existing row keeps its hits and last_used
  std::vector<Key> drop{};   // rows to delete
  std::vector<Key>
      evicted{};  // rows to delete and remember as evicted; coverage records that name them are deleted, too
  std::vector<Key> missed{};  // missed keys; those that were evicted are counted in evicted_misses
  std::vector<Key> ahead{};   // rows whose last_used becomes `now`
  std::int64_t now = 0;
  Counters counted{};  // to add
};

class Index {
 public:
  struct Row {
    Entry entry;
    // False when the row's digest does not match its contents: only hits and last_used are meaningful then.
    bool sound = true;
  };
  using Rows = std::map<Key, Row>;
  using Outcome = SqlExpected<Rows>;  // the message names the file

  // `patience`: how long to wait for an index that another process has locked. After one wait that timed out, all
  // further calls try once without waiting.
  Index(Layout layout, util::SystemCalls& calls, std::chrono::milliseconds patience)
      : layout_(std::move(layout)), calls_(calls), patience_(patience) {}

  // Returns all rows, after a check of the file's structure. Creates or replaces the file when needed.
  [[nodiscard]] Outcome rows() const;
  // Returns the same without changing anything on disk. An error when the file is missing or would have to be repaired.
  [[nodiscard]] Outcome rows_unchanged() const;

  // Makes the changes and returns the size of the root by the rows afterwards.
  Expected<Totals> apply(const IndexChange& change) const;
  // Makes a row unsound, so that the next listing reads the object. The row keeps its hits and last_used.
  Expected<void> distrust(const Key& key) const;
  // Computes the size of the root anew from the rows.
  Expected<void> recount() const;
  // Adds one hit at `now` to each key, and the counters, in one transaction. Returns the keys that have no row.
  Expected<std::vector<Key>> add_hits(const std::vector<Key>& keys, std::int64_t now, const Counters& counted) const;
  // Deletes a row. False when there was none.
  Expected<bool> erase(const Key& key) const;

  // Whether the index is not used because the root's file system has no locks. Known once a call has failed.
  [[nodiscard]] bool lacks_locks() const { return locks_ == Locks::none; }

  // Returns the coverage records, the latest first; a row that is not sound is skipped.
  [[nodiscard]] Expected<std::vector<Coverage>> coverage() const;
  // Returns the same without changing anything on disk.
  [[nodiscard]] Expected<std::vector<Coverage>> coverage_unchanged() const;
  // Return the counters; all 0 if the file has a version without counters, or is missing and must not be changed.
  [[nodiscard]] Expected<Counters> counters() const;
  [[nodiscard]] Expected<Counters> counters_unchanged() const;
  // Returns the evicted keys that have not been missed since, ascending, as far as they are remembered. Changes nothing
  // on disk.
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
  // Returns the outcome, after noting whether another process held the index.
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
