#include "util/text.hpp"

#include "catch.hpp"

using namespace cubinet;

TEST_CASE("sizes are parsed as people write them") {
  const auto bytes = [](const char* text) { return util::parse_byte_size(text).value_or(-1); };
  CHECK(bytes("0") == 0);
  CHECK(bytes("1500") == 1500);
  CHECK(bytes("1500 B") == 1500);
  CHECK(bytes("2GiB") == std::int64_t{2} << 30);
  CHECK(bytes("64 MiB") == std::int64_t{64} << 20);
  CHECK(bytes("4k") == 4096);
  CHECK(bytes("80GB") == 80'000'000'000);
  CHECK(bytes("1.5g") == 1'610'612'736);
  CHECK(bytes("0.1TiB") == 109'951'162'777);
  CHECK(bytes("9223372036854775807") == 9223372036854775807);
}

TEST_CASE("a text that is not a size, or too large a size, is refused with a message that quotes it") {
  for (const char* text : {"", " ", "GiB", "-1", "+1", "1e9", "1..5", "1.", ".5", "2 Gi", "2GiBs", "2PiB", "0x10",
                           "1 2", "9223372036854775808", "8388608TiB", "99999999999999999999"}) {
    INFO(text);
    const auto bytes = util::parse_byte_size(text);
    REQUIRE_FALSE(bytes);
    CHECK(bytes.error().code == ErrorCode::invalid_argument);
    CHECK(bytes.error().message.find(std::string("'") + text + "'") != std::string::npos);
  }
}

TEST_CASE("a size that does not fit into 64 bits is reported as too large, with the largest size") {
  for (const char* text : {"9223372036854775808", "8388608TiB", "99999999999999999999", "99999999999999GiB",
                           "99999999999999999999 MB", "99999999999999999999.5"}) {
    INFO(text);
    const std::string message = util::parse_byte_size(text).error().message;
    CHECK(message == std::string("'") + text + "' is too large: a size is at most 9223372036854775807 bytes");
  }
  for (const char* text : {"99999999999999999999x", "-99999999999999999999", "1e99"}) {
    INFO(text);
    CHECK(util::parse_byte_size(text).error().message.find("is not a size") != std::string::npos);
  }
}

TEST_CASE("sizes are printed in the largest unit that suits them") {
  CHECK(util::format_byte_size(0) == "0 B");
  CHECK(util::format_byte_size(1500) == "1500 B");
  CHECK(util::format_byte_size(1024) == "1 KiB");
  CHECK(util::format_byte_size(45'158) == "44.1 KiB");
  CHECK(util::format_byte_size(std::int64_t{2} << 30) == "2 GiB");
  CHECK(util::format_byte_size((std::int64_t{5} << 30) / 2) == "2.5 GiB");
}

TEST_CASE("split keeps empty parts") {
  using Parts = std::vector<std::string>;
  CHECK(util::split("bf16,fp8", ',') == Parts{"bf16", "fp8"});
  CHECK(util::split("bf16", ',') == Parts{"bf16"});
  CHECK(util::split(",a,", ',') == Parts{"", "a", ""});
  CHECK(util::split("", ',') == Parts{""});
}

TEST_CASE("durations are parsed as people write them") {
  const auto seconds = [](const char* text) { return util::parse_duration(text).value_or(-1); };
  CHECK(seconds("0d") == 0);
  CHECK(seconds("90s") == 90);
  CHECK(seconds("30min") == 1800);
  CHECK(seconds("12h") == 43'200);
  CHECK(seconds("7d") == 604'800);
  CHECK(seconds("2w") == 1'209'600);
  CHECK(seconds("9223372036854775807s") == 9223372036854775807);
}

TEST_CASE("a text that is not a duration, or too long a duration, is refused with a message that quotes it") {
  for (const char* text : {"", " ", "7", "d", "-1d", "+1d", "1.5d", "1 d", " 1d", "1d ", "1D", "1m", "1dd", "1y",
                           "9223372036854775808s", "106751991167301d"}) {
    INFO(text);
    const auto seconds = util::parse_duration(text);
    REQUIRE_FALSE(seconds);
    CHECK(seconds.error().code == ErrorCode::invalid_argument);
    CHECK(seconds.error().message.find(std::string("'") + text + "'") != std::string::npos);
  }
}
