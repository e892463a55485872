// The index's table of entries: what the objects' footers say, and their use.
#pragma once

#include <cstdint>
#include <vector>

#include "cache/index.hpp"
#include "cache/sqlite.hpp"

namespace cubinet::cache {

// WITHOUT ROWID: the table is one tree, so that there is no second one that could disagree with it.
inline constexpr const char* entries_schema = R"(
CREATE TABLE entries (
  key TEXT PRIMARY KEY, bytes INTEGER NOT NULL, family TEXT NOT NULL, arch TEXT NOT NULL, n INTEGER NOT NULL,
  k INTEGER NOT NULL, config TEXT NOT NULL, registers INTEGER NOT NULL, spill_bytes INTEGER NOT NULL,
  smem_bytes INTEGER NOT NULL, compile_ms REAL NOT NULL, created INTEGER NOT NULL, kernel_names TEXT NOT NULL,
  record TEXT NOT NULL, row_digest TEXT NOT NULL, last_used INTEGER NOT NULL DEFAULT 0, hits INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
)";

// What was added since, without a new version: builds that do not know these columns name theirs and pass them by. The
// digest is over the whole of the row, the compiler too; a row that such a build has written has another one or none.
inline constexpr const char* compilers_schema = R"(
ALTER TABLE entries ADD COLUMN compiler TEXT NOT NULL DEFAULT '';
ALTER TABLE entries ADD COLUMN digest TEXT NOT NULL DEFAULT '';
)";

// Whether the table has these columns.
SqlExpected<bool> has_compilers(Database& database);

// All rows, after a check of the file's structure.
SqlExpected<Index::Rows> read_rows(Database& database);

// Adds rows or brings them up to date; hits and last_used of a row that is there stay.
SqlExpected<void> put_rows(Database& database, const std::vector<Entry>& entries);

// Makes the row of a key unsound, if there is one. Its use stays.
SqlExpected<void> distrust_row(Database& database, const Key& key);

// Returns how many there were.
SqlExpected<std::int64_t> drop_rows(Database& database, const std::vector<Key>& keys);

// Says that these were used at `now`, and counts no hit.
SqlExpected<void> set_used(Database& database, const std::vector<Key>& keys, std::int64_t now);

// Adds one hit at `now` to each key. A use that was recorded for a later time stays: one of the clocks was wrong, and
// what is used grows no older. Returns the keys that have no row.
SqlExpected<std::vector<Key>> add_hits(Database& database, const std::vector<Key>& keys, std::int64_t now);

}  // namespace cubinet::cache
