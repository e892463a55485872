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

// All rows, after a check of the file's structure.
SqlExpected<Index::Rows> read_rows(Database& database);

// Adds rows or brings them up to date; hits and last_used of a row that is there stay.
SqlExpected<void> put_rows(Database& database, const std::vector<Entry>& entries);

// Returns how many there were.
SqlExpected<std::int64_t> drop_rows(Database& database, const std::vector<Key>& keys);

// Says that these were used at `now`, and counts no hit.
SqlExpected<void> set_used(Database& database, const std::vector<Key>& keys, std::int64_t now);

// Adds one hit at `now` to each key. A use that was recorded for a later time stays: one of the clocks was wrong, and
// what is used grows no older. Returns the keys that have no row.
SqlExpected<std::vector<Key>> add_hits(Database& database, const std::vector<Key>& keys, std::int64_t now);

}  // namespace cubinet::cache
