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

}  // namespace cubinet::tools
