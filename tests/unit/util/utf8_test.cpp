#include "util/utf8.hpp"

#include <string>
#include <vector>

#include "catch.hpp"

using namespace cubinet;

namespace {

std::vector<char32_t> codes_of(std::string_view text) {
  std::vector<char32_t> codes;
  while (!text.empty()) codes.push_back(util::take_character(text).code);
  return codes;
}

using Codes = std::vector<char32_t>;

}  // namespace

TEST_CASE("Characters of one to four bytes are taken with their numbers") {
  CHECK(codes_of("a\x7f") == Codes{'a', 0x7F});
  CHECK(codes_of("\xC2\x80\xC2\x9B\xDF\xBF") == Codes{0x80, 0x9B, 0x7FF});
  CHECK(codes_of("\xE2\x80\xAE\xEF\xBF\xBD") == Codes{0x202E, 0xFFFD});
  CHECK(codes_of("\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF") == Codes{0x1F600, 0x10FFFF});
}

TEST_CASE("Each byte that is no part of a character is a replacement, and what follows is taken") {
  CHECK(codes_of("\xFF") == Codes{0xFFFD});
  CHECK(codes_of("\x80z") == Codes{0xFFFD, 'z'});
  CHECK(codes_of("\xC0\xAF") == Codes{0xFFFD, 0xFFFD});              // more bytes than it needs
  CHECK(codes_of("\xED\xA0\x80") == Codes{0xFFFD, 0xFFFD, 0xFFFD});  // a surrogate
  CHECK(codes_of("\xE2\x82") == Codes{0xFFFD, 0xFFFD});              // cut
  std::string_view text = "\x80z";
  CHECK(util::take_character(text).bytes == "\xEF\xBF\xBD");
  CHECK(text == "z");
}
