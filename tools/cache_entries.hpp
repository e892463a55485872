// What the commands of `cubinet cache` say of entries, and how they find the one that a user means.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/cabinet.hpp"
#include "tools/output.hpp"
#include "util/expected.hpp"

namespace cubinet::tools {

// So many digits of a key are shown in tables.
inline constexpr std::size_t shown_digits = 12;

// How long ago `then` was, whatever an object or the index says: never negative, and a time before 1970 is one of 1970.
std::string age_of(std::int64_t then);

// "-" where there is none.
std::string config_text(const cache::Facts& facts);

// Why no eviction takes the entry: "pinned", "in use"; empty when one may.
std::string kept_text(const cache::Entry& entry);

// `use_known`: the index was read, and hits and last_used mean something.
Json entry_object(const cache::Entry& entry, bool use_known);

// What cannot be read, as JSON: objects of name and reason.
Json unreadable_array(const std::vector<cache::Unreadable>& unreadable);

// Says what a listing leaves out, and that `index_problem` (empty: none) takes the hits from it.
void note_shortfalls(std::size_t damaged, const std::vector<cache::Unreadable>& unreadable,
                     const std::string& index_problem);

// What the user typed is the beginning of a key, in either case.
Expected<std::string> key_prefix(const std::string& text);

// An error of a damaged object, with the mend.
Error damaged(const std::string& reason);

// The same of an error of Cabinet::load: what cannot be read is no damage, and no repair mends it.
Error unusable_entry(const Error& reason);

// A survey with the one entry that `prefix` means.
Expected<cache::Survey> find_one(const std::string& prefix, cache::Cabinet& cabinet);

struct Refusal {
  Error error;
  ExitCode exit_code = exit_failed;
};

// The same for a word of the command line, whatever it is.
tl::expected<cache::Survey, Refusal> find_typed(const std::string& word, cache::Cabinet& cabinet);

}  // namespace cubinet::tools
