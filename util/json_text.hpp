// JSON that is written as text, without a tree of values: a tree of nlohmann::json needs memory to be destroyed, and
// ends the process where there is none. All of it throws std::bad_alloc alone.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cubinet::util {

// `text` as a JSON string, with its quotes. Control characters are escaped, and each byte that is no part of a UTF-8
// character becomes U+FFFD: every text has a string.
std::string json_string(std::string_view text);

// Whether json_string keeps all of `text`. Throws nothing.
bool is_utf8(std::string_view text) noexcept;

// A list of such strings.
std::string json_strings(const std::vector<std::string>& texts);

// A list of values that are JSON already.
std::string json_array(const std::vector<std::string>& elements);

// A member's name, which needs no escape, and the JSON of its value.
using JsonMember = std::pair<std::string_view, std::string>;

// An object on one line, without white space, its members in the order given.
std::string json_object(const std::vector<JsonMember>& members);

}  // namespace cubinet::util
