// The tables of the index: entries, coverage, counters and evicted keys. Each function works on an open database, in
// the caller's transaction if there is one.
#pragma once

#include <cstdint>
#include <vector>

#include "cache/counters.hpp"
#include "cache/entry.hpp"
#include "cache/index.hpp"
#include "cache/sqlite.hpp"

namespace cubinet::cache {

// --- entries (entry_table.cpp): what the objects' footers say, and how often each entry was used.

// WITHOUT ROWID: the table is one tree, so that there is no second tree that could disagree with it.
inline constexpr const char* entries_schema = R"(
CREATE TABLE entries (
  key TEXT PRIMARY KEY, bytes INTEGER NOT NULL, family TEXT NOT NULL, arch TEXT NOT NULL, n INTEGER NOT NULL,
  k INTEGER NOT NULL, config TEXT NOT NULL, registers INTEGER NOT NULL, spill_bytes INTEGER NOT NULL,
  smem_bytes INTEGER NOT NULL, compile_ms REAL NOT NULL, created INTEGER NOT NULL, kernel_names TEXT NOT NULL,
  record TEXT NOT NULL, row_digest TEXT NOT NULL, last_used INTEGER NOT NULL DEFAULT 0, hits INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
)";

// Columns that were added later, without a new schema version. Earlier builds ignore them, because each statement names
// its columns. `digest` covers the whole row including `compiler`; it is missing or wrong in a row that an earlier
// build wrote.
inline constexpr const char* compilers_schema = R"(
ALTER TABLE entries ADD COLUMN compiler TEXT NOT NULL DEFAULT '';
ALTER TABLE entries ADD COLUMN digest TEXT NOT NULL DEFAULT '';
)";

// Whether the table has the columns of compilers_schema.
SqlExpected<bool> has_compilers(Database& database);

// Returns all rows, after a check of the file's structure.
SqlExpected<Index::Rows> read_rows(Database& database);

// Adds rows or updates them; an existing row keeps its hits and last_used.
SqlExpected<void> put_rows(Database& database, const std::vector<Entry>& entries);

// Makes the row of a key unsound, if there is one. The row keeps its hits and last_used.
SqlExpected<void> distrust_row(Database& database, const Key& key);

// Deletes rows. Returns how many there were.
SqlExpected<std::int64_t> drop_rows(Database& database, const std::vector<Key>& keys);

// Sets last_used to `now` without counting a hit.
SqlExpected<void> set_used(Database& database, const std::vector<Key>& keys, std::int64_t now);

// Adds one hit to each key and sets last_used to `now`, unless a later time is recorded: then a clock was wrong, now or
// earlier, and an entry that is used must not become older. Returns the keys that have no row.
SqlExpected<std::vector<Key>> add_hits(Database& database, const std::vector<Key>& keys, std::int64_t now);

// --- coverage (coverage_table.cpp)

// id is the SHA-256 of the subject, keys a JSON list of hexadecimal texts, digest the SHA-256 of all the rest.
inline constexpr const char* coverage_schema =
    "CREATE TABLE coverage (id TEXT PRIMARY KEY, subject TEXT NOT NULL, keys TEXT NOT NULL, recorded INTEGER NOT NULL, "
    "digest TEXT NOT NULL) STRICT, WITHOUT ROWID";

// Returns the records, the latest first. A row whose digest does not match is skipped.
SqlExpected<std::vector<Coverage>> read_coverage(Database& database);

// Stores a record in place of the earlier one of its subject, and deletes the oldest above max_coverages.
SqlExpected<void> put_coverage(Database& database, const Coverage& coverage);

// Deletes exactly these records. A record that has replaced one of them in the meantime stays.
SqlExpected<void> drop_coverage(Database& database, const std::vector<Coverage>& coverages);

// Deletes the records that name one of these keys.
SqlExpected<void> drop_coverage_of(Database& database, const std::vector<Key>& keys);

// --- counters, size of the root, evicted keys (counter_table.cpp)

// This many evicted keys are remembered, the latest ones.
inline constexpr std::int64_t max_evicted = 10'000;

// `entries` and `bytes` among the counters are sums over the rows of `entries`. Triggers keep them, so that the size of
// the root is known without reading every row. `hits` starts with the hits in the rows of an earlier version.
inline constexpr const char* counters_schema = R"(
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO counters SELECT 'entries', count(*) FROM entries UNION ALL SELECT 'bytes', coalesce(sum(bytes), 0)
  FROM entries UNION ALL SELECT 'hits', coalesce(sum(hits), 0) FROM entries;
CREATE TRIGGER entry_put AFTER INSERT ON entries BEGIN
  UPDATE counters SET value = value + 1 WHERE name = 'entries';
  UPDATE counters SET value = value + new.bytes WHERE name = 'bytes';
END;
CREATE TRIGGER entry_resized AFTER UPDATE OF bytes ON entries BEGIN
  UPDATE counters SET value = value - old.bytes + new.bytes WHERE name = 'bytes';
END;
CREATE TRIGGER entry_dropped AFTER DELETE ON entries BEGIN
  UPDATE counters SET value = value - 1 WHERE name = 'entries';
  UPDATE counters SET value = value - old.bytes WHERE name = 'bytes';
END;
CREATE TABLE evicted (key TEXT PRIMARY KEY, turn INTEGER NOT NULL) STRICT, WITHOUT ROWID;
)";

SqlExpected<Counters> read_counters(Database& database);
SqlExpected<void> add_counters(Database& database, const Counters& counted);

SqlExpected<Totals> read_totals(Database& database);
// Computes the totals anew from the rows, in case corruption has changed them.
SqlExpected<void> recount(Database& database);

// Remembers evicted keys, and forgets the oldest above max_evicted.
SqlExpected<void> remember_evicted(Database& database, const std::vector<Key>& keys);
// Returns the remembered keys, ascending.
SqlExpected<std::vector<Key>> read_evicted(Database& database);
// Removes these keys from the remembered ones. Returns how many were remembered.
SqlExpected<std::int64_t> forget_evicted(Database& database, const std::vector<Key>& keys);

}  // namespace cubinet::cache
