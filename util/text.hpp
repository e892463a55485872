// Sizes, durations, counts and lists as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/expected.hpp"

namespace cubinet::util {

// Parses a number of bytes: digits, an optional fraction, optional spaces and an optional unit, in either case.
//   B                          bytes, also without a unit:  "1500"
//   K M G T, KiB MiB GiB TiB   powers of 1024:              "2GiB", "64 MiB", "1.5g"
//   KB MB GB TB                powers of 1000:              "80GB"
// A fraction of a byte is dropped. invalid_argument for any other text, for a sign, and above 2^63 - 1.
Expected<std::int64_t> parse_byte_size(std::string_view text);

// "0 B", "1500 B", "44.1 KiB", "2 GiB": in the largest binary unit of which there are at least two, or exactly one;
// with one decimal unless the value is a whole number of that unit. Precondition: bytes >= 0.
std::string format_byte_size(std::int64_t bytes);

// Parses a duration, a whole number and its unit, into seconds: s, min, h, d (24 hours) or w (7 days), as in "90s",
// "30min", "12h", "7d", "2w". invalid_argument for any other text, a number without a unit among them, and above 2^63 -
// 1 seconds.
Expected<std::int64_t> parse_duration(std::string_view text);

// "1 kernel", "10 kernels", "2 entries".
std::string count_text(std::int64_t count, std::string_view noun);

// The parts between the separators, including empty ones: one more than there are separators.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace cubinet::util
