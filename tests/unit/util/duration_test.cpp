#include "util/duration.hpp"

#include "catch.hpp"

using namespace cubinet;

TEST_CASE("stretches of time are read as people write them") {
  const auto seconds = [](const char* text) { return util::parse_duration(text).value_or(-1); };
  CHECK(seconds("0d") == 0);
  CHECK(seconds("90s") == 90);
  CHECK(seconds("30min") == 1800);
  CHECK(seconds("12h") == 43'200);
  CHECK(seconds("7d") == 604'800);
  CHECK(seconds("2w") == 1'209'600);
  CHECK(seconds("9223372036854775807s") == 9223372036854775807);
}

TEST_CASE("what is no stretch of time, or too long a one, is refused with a message that quotes it") {
  for (const char* text : {"", " ", "7", "d", "-1d", "+1d", "1.5d", "1 d", " 1d", "1d ", "1D", "1m", "1dd", "1y",
                           "9223372036854775808s", "106751991167301d"}) {
    INFO(text);
    const auto seconds = util::parse_duration(text);
    REQUIRE_FALSE(seconds);
    CHECK(seconds.error().code == ErrorCode::invalid_argument);
    CHECK(seconds.error().message.find(std::string("'") + text + "'") != std::string::npos);
  }
}
