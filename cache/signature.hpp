// Ed25519 signatures (RFC 8032). Keys are PEM files as `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout`
// write them. Both classes are values that share the key; thread-safe.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "util/expected.hpp"

struct evp_pkey_st;  // libcrypto's

namespace cubinet::cache {

class SigningKey {
 public:
  // Reads a private key. not_found or io when the file cannot be read; invalid_argument when it holds no Ed25519
  // private key, or an encrypted one: the user is never asked for a password.
  static Expected<SigningKey> read(const std::filesystem::path& path);
  // Returns a signature of 64 bytes; the same for the same bytes.
  [[nodiscard]] std::string sign(std::string_view bytes) const;

 private:
  std::shared_ptr<evp_pkey_st> key_;
};

class VerifyKey {
 public:
  // Reads a public key; errors as from SigningKey::read.
  static Expected<VerifyKey> read(const std::filesystem::path& path);
  // Whether the signature is valid for these bytes.
  [[nodiscard]] bool accepts(std::string_view bytes, std::string_view signature) const;

 private:
  std::shared_ptr<evp_pkey_st> key_;
};

}  // namespace cubinet::cache
