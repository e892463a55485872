// Stretches of time as people write them.
#pragma once

#include <cstdint>
#include <string_view>

#include "util/expected.hpp"

namespace cubinet::util {

// Reads a whole number and its unit, in seconds: s, min, h, d (24 hours) or w (7 days), as in "90s", "30min", "12h",
// "7d", "2w". invalid_argument for anything else, a number without a unit among it, and above 2^63 - 1.
Expected<std::int64_t> parse_duration(std::string_view text);

}  // namespace cubinet::util
