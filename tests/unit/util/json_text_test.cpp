#include "util/json_text.hpp"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "catch.hpp"

using cubinet::util::json_string;
using cubinet::util::take_character;

namespace {

// The string as a JSON reader reads it.
std::string read_back(const std::string& text) { return nlohmann::json::parse(json_string(text)).get<std::string>(); }

std::vector<char32_t> codes_of(std::string_view text) {
  std::vector<char32_t> codes;
  while (!text.empty()) codes.push_back(take_character(text).code);
  return codes;
}

using Codes = std::vector<char32_t>;

}  // namespace

TEST_CASE("Characters of one to four bytes are decoded to their code points") {
  CHECK(codes_of("a\x7f") == Codes{'a', 0x7F});
  CHECK(codes_of("\xC2\x80\xC2\x9B\xDF\xBF") == Codes{0x80, 0x9B, 0x7FF});
  CHECK(codes_of("\xE2\x80\xAE\xEF\xBF\xBD") == Codes{0x202E, 0xFFFD});
  CHECK(codes_of("\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF") == Codes{0x1F600, 0x10FFFF});
}

TEST_CASE("Each byte that is not part of a character becomes U+FFFD, and the next character is decoded") {
  CHECK(codes_of("\xFF") == Codes{0xFFFD});
  CHECK(codes_of("\x80z") == Codes{0xFFFD, 'z'});
  CHECK(codes_of("\xC0\xAF") == Codes{0xFFFD, 0xFFFD});              // more bytes than it needs
  CHECK(codes_of("\xED\xA0\x80") == Codes{0xFFFD, 0xFFFD, 0xFFFD});  // a surrogate
  CHECK(codes_of("\xE2\x82") == Codes{0xFFFD, 0xFFFD});              // cut
  std::string_view text = "\x80z";
  CHECK(take_character(text).bytes == "\xEF\xBF\xBD");
  CHECK(text == "z");
}

TEST_CASE("Any text in UTF-8 is read back as it was written, control characters and quotes among it") {
  for (int code = 0; code < 0x80; ++code) {
    INFO(code);
    const std::string text(3, static_cast<char>(code));
    CHECK(read_back(text) == text);
  }
  // The first and the last characters of two, three and four bytes, and those beside the surrogates.
  for (const char* text : {"", "\u0080", "\u07ff", "\u0800", "\uffff", "\ud7ff", "\ue000", "\U00010000", "\U0010ffff",
                           "C:\\a \"b\"\n\u20ac"}) {
    CHECK(read_back(text) == text);
  }
  CHECK(json_string("a\nb").find('\n') == std::string::npos);
}

TEST_CASE("Bytes that are not UTF-8 are replaced one by one, and their neighbours are kept") {
  const std::string mark = "\ufffd";
  CHECK(read_back("a\xff"
                  "b") == "a" + mark + "b");
  CHECK(read_back("\xc3") == mark);  // cut off
  CHECK(read_back("\xe2\x82"
                  "c") == mark + mark + "c");                         // cut off before a letter
  CHECK(read_back("\xc0\xaf") == mark + mark);                        // more bytes than the character needs
  CHECK(read_back("\xe0\x9f\xbf") == mark + mark + mark);             // likewise
  CHECK(read_back("\xed\xa0\x80") == mark + mark + mark);             // a surrogate
  CHECK(read_back("\xf4\x90\x80\x80") == mark + mark + mark + mark);  // above the last character
  CHECK(read_back("\xf0\x8f\xbf\xbf") == mark + mark + mark + mark);  // more bytes than needed
}

TEST_CASE("Every pair of bytes gives valid JSON") {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string text{static_cast<char>(first), static_cast<char>(second)};
      INFO(first << " " << second);
      if (!nlohmann::json::accept(json_string(text))) FAIL("refused");
    }
  }
}

TEST_CASE("Objects and lists of texts are read back member by member, empty ones too") {
  using cubinet::util::json_object;
  using cubinet::util::json_strings;
  const auto object = nlohmann::json::parse(
      json_object({{"n", "7"}, {"name", json_string("a \"b\"")}, {"list", json_strings({"x", "", "\n"})}}));
  CHECK(object == nlohmann::json{{"n", 7}, {"name", "a \"b\""}, {"list", {"x", "", "\n"}}});
  CHECK(json_object({}) == "{}");
  CHECK(json_strings({}) == "[]");
}

TEST_CASE("is_utf8 accepts exactly the texts that are valid UTF-8") {
  using cubinet::util::is_utf8;
  for (const char* text : {"", "plain", "\u20ac", "\U0010ffff"}) CHECK(is_utf8(text));
  for (const char* text : {"\xff", "a\xc3", "\xed\xa0\x80"}) CHECK_FALSE(is_utf8(text));
}

TEST_CASE("Control characters become blanks, and other text is unchanged") {
  using cubinet::util::one_line;
  CHECK(one_line("a\nb\x1b[2J\x7f") == "a b [2J ");
  CHECK(one_line("\xC2\x9B"
                 "31m") == " 31m");  // U+009B, the CSI of C1
  CHECK(one_line("\xC2\x85"
                 "x") == " x");                         // U+0085, next line
  CHECK(one_line("\xE2\x80\xA8\xE2\x80\xA9") == "  ");  // U+2028 and U+2029, separators
  CHECK(one_line("\xE2\x80\xAE"
                 "gnp\xE2\x81\xA6") == " gnp ");    // U+202E and U+2066 turn text round
  CHECK(one_line("\xE2\x80\x8F\xD8\x9C") == "  ");  // U+200F and U+061C
  CHECK(one_line("Zürich 東京 😀") == "Zürich 東京 😀");
}

TEST_CASE("A byte that is not UTF-8 becomes U+FFFD and cannot control a terminal") {
  using cubinet::util::is_utf8;
  using cubinet::util::one_line;
  CHECK(one_line("bad\xFF\x9B!") == "bad\xEF\xBF\xBD\xEF\xBF\xBD!");
  CHECK(is_utf8(one_line("\xE2\x80")));
}
