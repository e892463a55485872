// Sizes, counts and lists as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/expected.hpp"

namespace cubinet::util {

// Reads a number of bytes: digits, an optional fraction, optional spaces and an optional unit, in either case.
//   B                          bytes, also without a unit:  "1500"
//   K M G T, KiB MiB GiB TiB   powers of 1024:              "2GiB", "64 MiB", "1.5g"
//   KB MB GB TB                powers of 1000:              "80GB"
// A fraction of a byte is dropped. invalid_argument for anything else, for a sign, and above 2^63 - 1.
Expected<std::int64_t> parse_byte_size(std::string_view text);

// "0 B", "1500 B", "44.1 KiB", "2 GiB": the largest binary unit of which there are at least two, or exactly one;
// one decimal unless the value is a whole number of that unit. Precondition: bytes >= 0.
std::string format_byte_size(std::int64_t bytes);

// "1 kernel", "10 kernels", "2 entries".
std::string count_text(std::int64_t count, std::string_view noun);

// The parts between the separators, one more than there are of these; empty ones, too.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace cubinet::util
