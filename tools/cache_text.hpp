// What the commands of `cubinet cache` print about entries and coverage, and how they find the entry that a user means.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/cabinet.hpp"
#include "tools/output.hpp"
#include "util/expected.hpp"
#include "warmup/campaign/coverage.hpp"

namespace cubinet::tools {

// What --help says of the fields of an entry, as `ls --json` and `show --json` print them.
extern const char* const entry_fields_help;

// So many digits of a key are shown in tables.
inline constexpr std::size_t shown_digits = 12;

// How long ago `then` was, whatever an object or the index says: never negative, and a time before 1970 is one of 1970.
std::string age_of(std::int64_t then);

// "-" where there is none.
std::string config_text(const cache::Facts& facts);
// What compiled it; "-" where that is not recorded.
std::string compiler_text(const cache::Facts& facts);

// What is known of the entries of a survey besides the entries themselves.
struct Known {
  bool use = true;   // the index was read: hits and last_used mean something
  bool kept = true;  // pins and uses were read: pinned and in_use do
};

Known known(const cache::Survey& survey);

// Why no eviction takes the entry: "pinned", "in use"; empty when one may, "?" when that is not known.
std::string kept_text(const cache::Entry& entry, const Known& known);

// What cannot be read, as JSON: objects of name and reason.
Json unreadable_array(const std::vector<cache::Unreadable>& unreadable);

// What is not known is null.
Json entry_object(const cache::Entry& entry, const Known& known);

// Says what a listing leaves out, and what could not be read of its entries.
void note_shortfalls(const cache::Survey& survey);

// An error of a damaged object, with the mend.
Error damaged(const std::string& reason);

// The same of an error of Cabinet::load: what cannot be read is no damage, and no repair mends it.
Error unusable_entry(const Error& reason);

// A survey with the one entry that `prefix` means, an argument KEY (cache_command.hpp).
Expected<cache::Survey> find_one(const std::string& prefix, cache::Cabinet& cabinet);

// "bf16 masked 1024 x 2048 in 32 groups, 2048 x 512 in 32 groups and 3 more": of many problems the first. Problems
// without sizes are "the generic kernels (bf16 masked)". Where they differ in their range of M each has its own behind
// it: "1024 x 2048 in 32 groups (M 1 to 512)".
std::string problems_text(const std::vector<ProblemRange>& problems);

// "1 to 16384"; "by problem" where they differ.
std::string range_text(const std::vector<ProblemRange>& problems);

// A list of {dtype, layout, n, k, groups, m_range}.
Json problems_array(const std::vector<ProblemRange>& problems);

// The architecture; and the number of SMs, where `records`, of which this is one, differ in it.
std::string target_text(const warmup::CoverageRecord& record, const std::vector<warmup::CoverageRecord>& records);

}  // namespace cubinet::tools
