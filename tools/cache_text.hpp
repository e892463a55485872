// The texts and JSON of entries and coverage records in the commands of `cubinet cache`, and the search for the entry
// that a user names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/maintenance.hpp"
#include "tools/output.hpp"
#include "util/expected.hpp"
#include "warmup/campaign/coverage.hpp"

namespace cubinet::tools {

// What --help says of the fields of an entry, as `ls --json` and `show --json` print them.
extern const char* const entry_fields_help;

// The number of digits of a key that tables show.
inline constexpr std::size_t shown_digits = 12;

// How long ago `then` was, in seconds since 1970. Any value is accepted: times in the future count as now, negative
// ones as 1970.
std::string age_of(std::int64_t then);

// The name of the tile configuration; "-" if there is none.
std::string config_text(const std::string& config);
// The compiler of the entry; "-" if it is not recorded.
std::string compiler_text(const cache::Facts& facts);

// Which fields of a survey's entries are known.
struct Known {
  bool use = true;   // the index was read: hits and last_used are valid
  bool kept = true;  // pins and leases were read: pinned and in_use are valid
};

Known known(const cache::Survey& survey);

// Why the entry cannot be evicted: "pinned" or "in use"; empty if it can, "?" if unknown.
std::string kept_text(const cache::Entry& entry, const Known& known);

// A JSON list of {name, reason}.
Json unreadable_array(const std::vector<cache::Unreadable>& unreadable);

// The entry as JSON; unknown fields are null.
Json entry_object(const cache::Entry& entry, const Known& known);

// Prints notes on what a listing leaves out, and on what could not be read.
void note_shortfalls(const cache::Survey& survey);

// The error for a damaged object, with the command that repairs it.
Error damaged(const std::string& reason);

// The error for a failed load or check of an entry: the same if the object is damaged; an unreadable one is not
// damaged, and keeps its own error.
Error unusable_entry(const Error& reason);

// A survey with the one entry whose key begins with `prefix`. not_found if there is none, invalid_argument with the
// candidates if there are several, io if it is damaged or unreadable.
Expected<cache::Survey> find_one(const std::string& prefix, cache::Maintenance& cabinet);

// "bf16 masked 1024 x 2048 in 32 groups, 2048 x 512 in 32 groups and 3 more": the first problems of a coverage record.
// Problems without sizes are "the generic kernels (bf16 masked)". If their ranges of M differ, each is followed by its
// own: "1024 x 2048 in 32 groups (M 1 to 512)".
std::string problems_text(const std::vector<ProblemRange>& problems);

// "1 to 16384"; "by problem" if the ranges differ.
std::string range_text(const std::vector<ProblemRange>& problems);

// A JSON list of {dtype, layout, n, k, groups, m_range}.
Json problems_array(const std::vector<ProblemRange>& problems);

// The architecture, and the number of SMs if `records`, which include this one, differ in it.
std::string target_text(const warmup::CoverageRecord& record, const std::vector<warmup::CoverageRecord>& records);

}  // namespace cubinet::tools
