#include "util/utf8.hpp"

namespace cubinet::util {
namespace {

constexpr Character replacement{0xFFFD, "\xEF\xBF\xBD"};

struct ByteRange {
  unsigned first;
  unsigned last;
};

// How many bytes a character has that begins with this one; 0: none does.
std::size_t length_of(unsigned lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

// What may follow as the second byte: no character in more bytes than it needs, no surrogate, none above U+10FFFF.
ByteRange second_byte(unsigned lead) {
  if (lead == 0xE0) return {0xA0, 0xBF};
  if (lead == 0xED) return {0x80, 0x9F};
  if (lead == 0xF0) return {0x90, 0xBF};
  if (lead == 0xF4) return {0x80, 0x8F};
  return {0x80, 0xBF};
}

// The number of a character from its bytes: a first one of many keeps 7 - length bits of its own, each further one 6.
char32_t code_of(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes.front());
  char32_t code = bytes.size() == 1 ? lead : lead & (0x7FU >> bytes.size());
  for (const char byte : bytes.substr(1)) code = code << 6 | (static_cast<unsigned char>(byte) & 0x3FU);
  return code;
}

}  // namespace

std::size_t character_bytes(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = length_of(lead);
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const ByteRange allowed = i == 1 ? second_byte(lead) : ByteRange{0x80, 0xBF};
    if (byte < allowed.first || byte > allowed.last) return 0;
  }
  return length;
}

Character take_character(std::string_view& text) noexcept {
  const std::string_view bytes = text.substr(0, character_bytes(text));
  text.remove_prefix(bytes.empty() ? 1 : bytes.size());
  return bytes.empty() ? replacement : Character{code_of(bytes), bytes};
}

}  // namespace cubinet::util
