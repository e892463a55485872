// Strings for JSON that is written as text, without a tree of values.
#pragma once

#include <string>
#include <string_view>

namespace cubinet::util {

// `text` as a JSON string, with its quotes. Control characters are escaped, and each byte that is no part of a UTF-8
// character becomes U+FFFD: every text has a string. Throws std::bad_alloc alone.
std::string json_string(std::string_view text);

}  // namespace cubinet::util
