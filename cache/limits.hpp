// How large a root may grow.
#pragma once

#include <cstdint>
#include <string_view>

#include "util/expected.hpp"

namespace cubinet::cache {

// 0 is no limit.
struct Limits {
  std::int64_t bytes = 0;  // of the objects' files, together
  std::int64_t entries = 0;
  std::int64_t age = 0;  // seconds since an entry was last used

  friend bool operator==(const Limits&, const Limits&) = default;
};

// What a root keeps to unless told otherwise.
inline constexpr Limits default_limits{.bytes = std::int64_t{4} << 30, .entries = 100'000, .age = 0};

inline bool is_over(std::int64_t value, std::int64_t limit) { return limit > 0 && value > limit; }

// Where a writer that found the root over its limits stops: nine tenths, so that the next publishes find room.
Limits with_headroom(const Limits& limits);

// What users write. "none" and "0" are no limit, an empty text is the default one (of an age: none). invalid_argument,
// naming the text, for anything else.
Expected<std::int64_t> parse_size_limit(std::string_view text);   // "4GiB", as util::parse_byte_size reads it
Expected<std::int64_t> parse_count_limit(std::string_view text);  // "100000"
Expected<std::int64_t> parse_age_limit(std::string_view text);    // "12h", "7d", as util::parse_duration reads it

// What CUBINET_CACHE_MAX_SIZE and CUBINET_CACHE_MAX_ENTRIES say. An error names the variable.
Expected<Limits> limits_from(std::string_view max_size, std::string_view max_entries);

}  // namespace cubinet::cache
