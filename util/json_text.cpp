#include "util/json_text.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

#include "util/utf8.hpp"

namespace cubinet::util {
namespace {

// A character of one byte.
void append_ascii(std::string& out, char character) {
  const auto code = static_cast<unsigned char>(character);
  if (code < 0x20 || code == 0x7F) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
  } else {
    if (character == '"' || character == '\\') out += '\\';
    out += character;
  }
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  // Most texts are plain; a listing writes many.
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

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = character_bytes(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
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
