#include "util/digest.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <stdexcept>

#include "util/crypto_context.hpp"

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

// Value of a hexadecimal digit, -1 for another character. Independent of the locale.
int digit_value(char c) { return digit_values[static_cast<unsigned char>(c)]; }

EVP_MD* fetch_algorithm() {
  if (EVP_MD* const fetched = EVP_MD_fetch(crypto_context(), "SHA256", nullptr)) return fetched;
  throw std::runtime_error("libcrypto has no SHA-256");
}

// Looked up once: by EVP_sha256() every digest looks it up anew, under locks.
const EVP_MD* algorithm() {
  static const EVP_MD* const fetched = fetch_algorithm();
  return fetched;
}

}  // namespace

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
