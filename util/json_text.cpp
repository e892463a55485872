#include "util/json_text.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

namespace cubinet::util {
namespace {

constexpr Character replacement{0xFFFD, "\xEF\xBF\xBD"};

struct ByteRange {
  unsigned first;
  unsigned last;
};

// The number of bytes of a character that begins with this byte; 0 if none does.
std::size_t length_of(unsigned lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

// The allowed second bytes: they exclude overlong forms, surrogates, and numbers above U+10FFFF.
ByteRange second_byte(unsigned lead) {
  if (lead == 0xE0) return {0xA0, 0xBF};
  if (lead == 0xED) return {0x80, 0x9F};
  if (lead == 0xF0) return {0x90, 0xBF};
  if (lead == 0xF4) return {0x80, 0x8F};
  return {0x80, 0xBF};
}

// The number of a character: the first of several bytes holds 7 - length of its bits, each further byte 6.
char32_t code_of(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes.front());
  char32_t code = bytes.size() == 1 ? lead : lead & (0x7FU >> bytes.size());
  for (const char byte : bytes.substr(1)) code = code << 6 | (static_cast<unsigned char>(byte) & 0x3FU);
  return code;
}

// The bytes of the character that begins `text`; 0 if none does.
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

// Appends a character of one byte.
void append_ascii(std::string& out, char character) {
  const auto code = static_cast<unsigned char>(character);
  if (code < 0x20 || code == 0x7F) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
  } else {
    if (character == '"' || character == '\\') out += '\\';
    out += character;
  }
}

// Whether a character can move the cursor, end a line or change the direction of text: C0 and C1 controls, line and
// paragraph separators, and marks, embeddings and isolates of bidirectional text.
bool is_control(char32_t code) {
  const auto within = [code](char32_t first, char32_t last) { return code >= first && code <= last; };
  return code < 0x20 || within(0x7F, 0x9F) || code == 0x061C || within(0x200E, 0x200F) || within(0x2028, 0x202E) ||
         within(0x2066, 0x2069);
}

}  // namespace

Character take_character(std::string_view& text) noexcept {
  const std::string_view bytes = text.substr(0, character_bytes(text));
  text.remove_prefix(bytes.empty() ? 1 : bytes.size());
  return bytes.empty() ? replacement : Character{code_of(bytes), bytes};
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = character_bytes(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string one_line(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const Character character = take_character(text);
    line += is_control(character.code) ? " " : character.bytes;
  }
  return line;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  // Fast path: most texts need no escape, and a listing writes many of them.
  const auto plain = [](char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; };
  const auto first_other = std::find_if_not(text.begin(), text.end(), plain);
  out.append(text.begin(), first_other);
  text.remove_prefix(static_cast<std::size_t>(first_other - text.begin()));
  while (!text.empty()) {
    const Character character = take_character(text);
    if (character.bytes.size() == 1) {
      append_ascii(out, character.bytes.front());
    } else {
      out += character.bytes;
    }
  }
  return out += '"';
}

std::string json_array(const std::vector<std::string>& elements) {
  std::string out = "[";
  for (const std::string& element : elements) {
    if (out.size() > 1) out += ',';
    out += element;
  }
  return out += ']';
}

std::string json_strings(const std::vector<std::string>& texts) {
  std::vector<std::string> elements;
  elements.reserve(texts.size());
  for (const std::string& text : texts) elements.push_back(json_string(text));
  return json_array(elements);
}

std::string json_object(const std::vector<JsonMember>& members) {
  std::string out = "{";
  for (const auto& [name, value] : members) {
    fmt::format_to(std::back_inserter(out), "{}\"{}\":{}", out.size() > 1 ? "," : "", name, value);
  }
  return out += '}';
}

}  // namespace cubinet::util
