#include "util/digest.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "unit/util/openssl_configurations.hpp"

using namespace cubinet;

TEST_CASE("SHA-256 gives the digests of the examples of FIPS 180-4") {
  CHECK(util::sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(util::sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(util::sha256_hex(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("hexadecimal text is parsed as written, and any other text is refused") {
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

TEST_CASE("SHA-256 does not depend on what the machine's OpenSSL configuration allows") {
  const test::TempFolder folder;
  for (const std::string& configuration : test::openssl_configurations(folder.path())) {
    INFO(configuration);
    CHECK(test::passes_under(configuration, "SHA-256 gives the digests of the examples of FIPS 180-4"));
  }
}

TEST_CASE("A child made by fork and concurrent threads compute the same SHA-256") {
  const auto is_right = [] { return util::sha256_hex("abc").starts_with("ba7816bf8f01cfea"); };
  REQUIRE(is_right());
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([&] { right += is_right() ? 1 : 0; });
  }
  CHECK(right == 8);
  const pid_t child = fork();
  if (child == 0) _exit(is_right() ? 0 : 1);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
