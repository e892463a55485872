// The index's tables of what was asked of the root: counters, the size of the root, and the keys that were evicted.
#pragma once

#include <cstdint>
#include <vector>

#include "cache/counters.hpp"
#include "cache/key.hpp"
#include "cache/sqlite.hpp"

namespace cubinet::cache {

// So many evicted keys are remembered, the latest.
inline constexpr std::int64_t max_evicted = 10'000;

// `entries` and `bytes` among the counters are sums over the rows of the table of entries, which triggers keep: nobody
// has to read them all to know how large the root is. The hits of an earlier version's rows are where its count starts.
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

// The sums over all rows.
struct Totals {
  std::int64_t entries = 0;
  std::int64_t bytes = 0;
};

SqlExpected<Counters> read_counters(Database& database);
SqlExpected<void> add_counters(Database& database, const Counters& counted);

SqlExpected<Totals> read_totals(Database& database);
// Sums up anew what noise may have changed.
SqlExpected<void> recount(Database& database);

// Remembers evicted keys, and forgets the oldest above max_evicted.
SqlExpected<void> remember_evicted(Database& database, const std::vector<Key>& keys);
// Those that are remembered, ascending.
SqlExpected<std::vector<Key>> read_evicted(Database& database);
// Forgets those of the keys that are remembered. Returns how many were.
SqlExpected<std::int64_t> forget_evicted(Database& database, const std::vector<Key>& keys);

}  // namespace cubinet::cache
