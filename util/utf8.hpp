// Text of UTF-8, character by character.
#pragma once

#include <cstddef>
#include <string_view>

namespace cubinet::util {

// The bytes of the character that begins `text`; 0 where none does: no character takes more bytes than it needs, none
// is a surrogate, none is above U+10FFFF. Precondition: `text` is not empty. Throws nothing.
std::size_t character_bytes(std::string_view text) noexcept;

struct Character {
  char32_t code = 0;
  std::string_view bytes;
};

// Takes the first character off the text. A byte that is no part of one is taken as U+FFFD. Precondition: `text` is not
// empty.
Character take_character(std::string_view& text) noexcept;

}  // namespace cubinet::util
