// Ed25519 with the test vectors of RFC 8032, section 7.1, and signed bundles.
#include "cache/signature.hpp"

#include "cache/bundle.hpp"
#include "catch.hpp"
#include "unit/cache/bundle_builder.hpp"
#include "unit/util/openssl_configurations.hpp"

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

std::string hex(std::string_view bytes) {
  return util::to_hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

}  // namespace

TEST_CASE("signatures equal the test vectors of RFC 8032") {
  const test::Keys keys;
  CHECK(
      hex(keys.signing().sign("")) ==
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24"
      "655141438e7a100b");
  CHECK(
      hex(keys.other().sign("\x72")) ==
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aee"
      "b00d291612bb0c00");
}

TEST_CASE("signatures do not depend on the machine's OpenSSL configuration") {
  const test::TempFolder folder;
  for (const std::string& configuration : test::openssl_configurations(folder.path())) {
    INFO(configuration);
    CHECK(test::passes_under(configuration, "signatures equal the test vectors of RFC 8032"));
    CHECK(test::passes_under(configuration, "a signature is valid only for its own bytes and key"));
  }
}

TEST_CASE("a signature is valid only for its own bytes and key") {
  const test::Keys keys;
  const std::string good = keys.signing().sign("bytes");
  CHECK(keys.verify().accepts("bytes", good));
  CHECK_FALSE(keys.verify().accepts("Bytes", good));
  CHECK_FALSE(keys.verify().accepts("bytes", keys.other().sign("bytes")));
  CHECK_FALSE(keys.verify().accepts("bytes", good.substr(1)));
  CHECK_FALSE(keys.verify().accepts("bytes", ""));
  std::string changed = good;
  changed[40] = static_cast<char>(changed[40] ^ 1);
  CHECK_FALSE(keys.verify().accepts("bytes", changed));
}

TEST_CASE("a file without the right kind of key is refused with the command that creates one") {
  const test::Keys keys;
  const auto& folder = keys.folder;
  test::write_file(folder / "empty", "");
  test::write_file(folder / "noise", "-----BEGIN PRIVATE KEY-----\nnoise\n-----END PRIVATE KEY-----\n");
  // P-256, by openssl ecparam -genkey.
  test::write_file(folder / "ec",
                   "-----BEGIN PUBLIC KEY-----\n"
                   "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt\n"
                   "6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==\n"
                   "-----END PUBLIC KEY-----\n");
  for (const char* name : {"empty", "noise", "ec", "public.pem"}) {
    const auto key = cache::SigningKey::read(folder / name);
    REQUIRE_FALSE(key);
    CHECK(key.error().message.find(name) != std::string::npos);
    CHECK(key.error().message.find("openssl genpkey") != std::string::npos);
  }
  for (const char* name : {"empty", "noise", "ec", "private.pem"}) {
    const auto key = cache::VerifyKey::read(folder / name);
    REQUIRE_FALSE(key);
    CHECK(key.error().message.find("openssl pkey") != std::string::npos);
  }
  CHECK(cache::VerifyKey::read(folder / "absent").error().code == ErrorCode::not_found);
}

TEST_CASE("a signed bundle is the unsigned one plus a signature, and is the same each time") {
  const test::Keys keys;
  test::RawBundle raw = test::raw_bundle(2);
  raw.signature_said = 64;
  const std::string unsigned_bytes = raw.bytes();
  raw.signature = keys.signing().sign(unsigned_bytes.substr(0, unsigned_bytes.size() - raw.blobs.size()));
  CHECK(test::written_bundle({0, 1}, keys.signing()) == raw.bytes());
  CHECK(test::read_bundle(raw.bytes()));
}

TEST_CASE("with a key, only bundles that it signed can be opened") {
  const test::Keys keys;
  const auto file = keys.folder / "bundle";
  const auto opens = [&](const std::string& bytes) {
    test::write_file(file, bytes);
    REQUIRE(cache::Bundle::open(file, {}));
    const auto opened = cache::Bundle::open(file, keys.verify());
    if (!opened) CHECK(opened.error().code == ErrorCode::invalid_argument);
    return opened.has_value();
  };
  CHECK(opens(test::written_bundle({0, 1}, keys.signing())));
  CHECK_FALSE(opens(test::written_bundle({0, 1})));
  CHECK_FALSE(opens(test::written_bundle({0, 1}, keys.other())));
  // Head, two rows and check: the bytes before the signature.
  constexpr std::size_t signed_bytes = 32 + 2 * 104 + 32;
  test::RawBundle raw = test::raw_bundle(2);
  raw.signature_said = 64;
  raw.signature = test::written_bundle({0, 2}, keys.signing()).substr(signed_bytes, 64);
  CHECK_FALSE(opens(raw.bytes()));
  raw.signature = keys.signing().sign(raw.bytes().substr(0, signed_bytes));
  CHECK(opens(raw.bytes()));
  raw.rows[1].arch = "sm_100a";
  CHECK_FALSE(opens(raw.bytes()));
}
