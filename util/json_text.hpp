// UTF-8 text, and JSON that is written as text. A tree of nlohmann::json allocates when it is destroyed, and ends the
// process if there is no memory then; so output that must be possible without memory, and records, whose bytes must
// never change, are written as text. The functions throw std::bad_alloc and nothing else.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cubinet::util {

// A Unicode character and its bytes in UTF-8.
struct Character {
  char32_t code = 0;
  std::string_view bytes;
};

// Removes the first character from `text`. A byte that is not part of a well-formed character (overlong forms,
// surrogates and numbers above U+10FFFF are not) is returned as U+FFFD. Precondition: `text` is not empty.
Character take_character(std::string_view& text) noexcept;

// Whether all of `text` is well-formed UTF-8.
bool is_utf8(std::string_view text) noexcept;

// Text on one line. Control characters, line ends and marks of text direction become blanks, so that a file name cannot
// forge lines, move the cursor or reverse text; a byte that is not UTF-8 becomes U+FFFD.
std::string one_line(std::string_view text);

// `text` as a JSON string with its quotes. Control characters are escaped, and each byte that is not part of a UTF-8
// character becomes U+FFFD.
std::string json_string(std::string_view text);

// A JSON array of strings.
std::string json_strings(const std::vector<std::string>& texts);

// A JSON array of values that are JSON already.
std::string json_array(const std::vector<std::string>& elements);

// A member's name, which must need no escape, and the JSON of its value.
using JsonMember = std::pair<std::string_view, std::string>;

// A JSON object on one line without white space, its members in the given order.
std::string json_object(const std::vector<JsonMember>& members);

}  // namespace cubinet::util
