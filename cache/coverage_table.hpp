// The index's table of what the root is complete for.
#pragma once

#include <string>
#include <vector>

#include "cache/cabinet.hpp"
#include "cache/sqlite.hpp"

namespace cubinet::cache {

// id is the SHA-256 of the subject, keys a JSON list of hexadecimal texts, digest the SHA-256 over all the rest.
inline constexpr const char* coverage_schema =
    "CREATE TABLE coverage (id TEXT PRIMARY KEY, subject TEXT NOT NULL, keys TEXT NOT NULL, recorded INTEGER NOT NULL, "
    "digest TEXT NOT NULL) STRICT, WITHOUT ROWID";

// The latest first. A row that is not sound is passed over.
SqlExpected<std::vector<Coverage>> read_coverage(Database& database);

// Puts one in the place of what was there of its subject, and drops the oldest above max_coverages.
SqlExpected<void> put_coverage(Database& database, const Coverage& coverage);

// Drops these. What was put in the place of one meanwhile stays.
SqlExpected<void> drop_coverage(Database& database, const std::vector<Coverage>& coverages);

// Drops those that name one of these keys.
SqlExpected<void> drop_coverage_of(Database& database, const std::vector<Key>& keys);

}  // namespace cubinet::cache
