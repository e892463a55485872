// Ed25519 signatures (RFC 8032), with keys as `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` write
// them: PEM. Values that share the key inside; thread-safe.
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
  // not_found or io when the file cannot be read; invalid_argument when it holds no Ed25519 private key, or an
  // encrypted one: nobody is asked for a password.
  static Expected<SigningKey> read(const std::filesystem::path& path);
  // 64 bytes; the same for the same bytes.
  [[nodiscard]] std::string sign(std::string_view bytes) const;

 private:
  std::shared_ptr<evp_pkey_st> key_;
};

class VerifyKey {
 public:
  // Errors as above, for a public key.
  static Expected<VerifyKey> read(const std::filesystem::path& path);
  [[nodiscard]] bool accepts(std::string_view bytes, std::string_view signature) const;

 private:
  std::shared_ptr<evp_pkey_st> key_;
};

}  // namespace cubinet::cache
