#include "util/digest.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/provider.h>

#include <algorithm>
#include <stdexcept>

namespace cubinet::util {
namespace {

constexpr std::array<signed char, 256> digit_values = [] {
  std::array<signed char, 256> values{};
  for (std::size_t c = 0; c < values.size(); ++c) {
    const auto from = [c](char first, int value) { return static_cast<signed char>(c) - first + value; };
    values[c] = static_cast<signed char>(c >= '0' && c <= '9'   ? from('0', 0)
                                         : c >= 'a' && c <= 'f' ? from('a', 10)
                                         : c >= 'A' && c <= 'F' ? from('A', 10)
                                                                : -1);
  }
  return values;
}();

// The value of a hexadecimal digit, -1 for any other character. Independent of the locale.
int digit_value(char c) { return digit_values[static_cast<unsigned char>(c)]; }

OSSL_LIB_CTX* make_context() {
  // The first digest looks for engines, which makes libcrypto read its configuration. A libcrypto that is linked in
  // statically is only ours and need not read any; a shared one belongs to the process, which may rely on it.
#ifndef CUBINET_SHARED_CRYPTO
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
#endif
  OSSL_LIB_CTX* const context = OSSL_LIB_CTX_new();
  if (context != nullptr && OSSL_PROVIDER_load(context, "default") != nullptr) return context;
  OSSL_LIB_CTX_free(context);
  throw std::runtime_error("libcrypto has no default provider");
}

EVP_MD* fetch_algorithm() {
  if (EVP_MD* const fetched = EVP_MD_fetch(crypto_context(), "SHA256", nullptr)) return fetched;
  throw std::runtime_error("libcrypto has no SHA-256");
}

// Fetched once: EVP_sha256() would make every digest look it up again, under locks.
const EVP_MD* algorithm() {
  static const EVP_MD* const fetched = fetch_algorithm();
  return fetched;
}

}  // namespace

// Never freed: threads may use it while the process ends.
ossl_lib_ctx_st* crypto_context() {
  static OSSL_LIB_CTX* const context = make_context();
  return context;
}

Sha256 sha256(std::string_view bytes) {
  Sha256 digest{};
  unsigned int length = 0;
  const int done = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, algorithm(), nullptr);
  if (done != 1 || length != digest.size()) throw std::runtime_error("libcrypto cannot compute SHA-256");
  return digest;
}

std::string sha256_hex(std::string_view bytes) { return to_hex(sha256(bytes)); }

std::string to_hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    text.push_back(digits[byte >> 4U]);
    text.push_back(digits[byte & 15U]);
  }
  return text;
}

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return digit_value(c) >= 0; });
}

bool from_hex(std::string_view text, std::span<std::uint8_t> out) {
  if (text.size() != out.size() * 2) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = digit_value(text[2 * i]);
    const int low = digit_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

}  // namespace cubinet::util
