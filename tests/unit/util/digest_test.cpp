#include "util/digest.hpp"

#include "catch.hpp"

using namespace cubinet;

TEST_CASE("SHA-256 gives the digests that FIPS 180-4 prints") {
  CHECK(util::sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(util::sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(util::sha256_hex(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("hexadecimal text is read back as it was written, and nothing else is read") {
  const auto digest = util::sha256("abc");
  util::Sha256 back{};
  REQUIRE(util::from_hex(util::to_hex(digest), back));
  CHECK(back == digest);
  std::array<std::uint8_t, 2> two{};
  CHECK(util::from_hex("00fF", two));
  CHECK(two[1] == 255);
  CHECK_FALSE(util::from_hex("00f", two));
  CHECK_FALSE(util::from_hex("00fff", two));
  CHECK_FALSE(util::from_hex("00fg", two));
  CHECK_FALSE(util::from_hex("0x0f", two));
}
