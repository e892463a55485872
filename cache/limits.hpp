// The limits of a root: bytes, entries, and age of entries.
#pragma once

#include <cstdint>
#include <string_view>

#include "util/expected.hpp"

namespace cubinet::cache {

// 0 means no limit.
struct Limits {
  std::int64_t bytes = 0;  // sum of the object files' sizes
  std::int64_t entries = 0;
  std::int64_t age = 0;  // seconds since an entry was last used

  friend bool operator==(const Limits&, const Limits&) = default;
};

// The limits of a root unless others are given.
inline constexpr Limits default_limits{.bytes = std::int64_t{4} << 30, .entries = 100'000, .age = 0};

inline bool is_over(std::int64_t value, std::int64_t limit) { return limit > 0 && value > limit; }

// The target of a writer that found the root over its limits: nine tenths of them, so that the next entries fit.
Limits with_headroom(const Limits& limits);

// Parse what users write. "none" and "0" mean no limit, an empty text the default (no limit for an age).
// invalid_argument, naming the text, for anything else.
Expected<std::int64_t> parse_size_limit(std::string_view text);   // "4GiB", as util::parse_byte_size reads it
Expected<std::int64_t> parse_count_limit(std::string_view text);  // "100000"
Expected<std::int64_t> parse_age_limit(std::string_view text);    // "12h", "7d", as util::parse_duration reads it

// Parses the values of CUBINET_CACHE_MAX_SIZE and CUBINET_CACHE_MAX_ENTRIES. An error names the variable.
Expected<Limits> limits_from(std::string_view max_size, std::string_view max_entries);

}  // namespace cubinet::cache
