#include "util/json_text.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"

using cubinet::util::json_string;

namespace {

// What a reader of JSON makes of the string.
std::string read_back(const std::string& text) { return nlohmann::json::parse(json_string(text)).get<std::string>(); }

}  // namespace

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

TEST_CASE("Bytes that are no UTF-8 are replaced one by one, and what stands beside them is kept") {
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

TEST_CASE("Every pair of bytes makes a string that a reader of JSON takes") {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string text{static_cast<char>(first), static_cast<char>(second)};
      INFO(first << " " << second);
      if (!nlohmann::json::accept(json_string(text))) FAIL("refused");
    }
  }
}
