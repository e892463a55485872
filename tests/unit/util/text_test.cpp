#include "util/text.hpp"

#include "catch.hpp"

using namespace cubinet;

TEST_CASE("sizes are read as people write them") {
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

TEST_CASE("what is not a size, or too large a one, is refused with a message that quotes it") {
  for (const char* text : {"", " ", "GiB", "-1", "+1", "1e9", "1..5", "1.", ".5", "2 Gi", "2GiBs", "2PiB", "0x10",
                           "1 2", "9223372036854775808", "8388608TiB", "99999999999999999999"}) {
    INFO(text);
    const auto bytes = util::parse_byte_size(text);
    REQUIRE_FALSE(bytes);
    CHECK(bytes.error().code == ErrorCode::invalid_argument);
    CHECK(bytes.error().message.find(std::string("'") + text + "'") != std::string::npos);
  }
}

TEST_CASE("a size that is one but does not fit is said to be too large, with the most that there is") {
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

TEST_CASE("sizes are printed in a unit that suits them") {
  CHECK(util::format_byte_size(0) == "0 B");
  CHECK(util::format_byte_size(1500) == "1500 B");
  CHECK(util::format_byte_size(1024) == "1 KiB");
  CHECK(util::format_byte_size(45'158) == "44.1 KiB");
  CHECK(util::format_byte_size(std::int64_t{2} << 30) == "2 GiB");
  CHECK(util::format_byte_size((std::int64_t{5} << 30) / 2) == "2.5 GiB");
}

TEST_CASE("A list is taken apart at each separator, empty parts and all") {
  using Parts = std::vector<std::string>;
  CHECK(util::split("bf16,fp8", ',') == Parts{"bf16", "fp8"});
  CHECK(util::split("bf16", ',') == Parts{"bf16"});
  CHECK(util::split(",a,", ',') == Parts{"", "a", ""});
  CHECK(util::split("", ',') == Parts{""});
}
