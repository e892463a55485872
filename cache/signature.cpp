#include "cache/signature.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <cstdint>
#include <stdexcept>

#include "util/digest.hpp"
#include "util/files.hpp"

namespace cubinet::cache {
namespace {

constexpr std::uint64_t max_key_file_bytes = 65'536;
constexpr std::size_t signature_bytes = 64;

using PemReader = EVP_PKEY* (*)(BIO*, EVP_PKEY**, pem_password_cb*, void*, OSSL_LIB_CTX*, const char*);

struct FreeCryptoObject {
  void operator()(BIO* memory) const { BIO_free(memory); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// Without a password callback libcrypto would ask for a password on the terminal.
int no_password(char*, int, int, void*) { return -1; }

const std::uint8_t* octets(std::string_view bytes) { return reinterpret_cast<const std::uint8_t*>(bytes.data()); }

std::shared_ptr<EVP_PKEY> parse(std::string_view pem, PemReader reader) {
  const std::unique_ptr<BIO, FreeCryptoObject> memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (!memory) throw std::bad_alloc();
  std::shared_ptr<EVP_PKEY> key(reader(memory.get(), nullptr, no_password, nullptr, util::crypto_context(), nullptr),
                                EVP_PKEY_free);
  ERR_clear_error();
  return key;
}

Expected<std::shared_ptr<EVP_PKEY>> read_key(const std::filesystem::path& path, PemReader reader, const char* wanted) {
  auto pem = util::read_file(path, max_key_file_bytes);
  if (!pem) return propagate(pem);
  auto key = parse(*pem, reader);
  OPENSSL_cleanse(pem->data(), pem->size());
  if (key && EVP_PKEY_get_id(key.get()) == EVP_PKEY_ED25519) return key;
  return fail(ErrorCode::invalid_argument, fmt::format("{} holds no {}", path.native(), wanted));
}

std::unique_ptr<EVP_MD_CTX, FreeCryptoObject> make_context() {
  std::unique_ptr<EVP_MD_CTX, FreeCryptoObject> context(EVP_MD_CTX_new());
  if (!context) throw std::bad_alloc();
  return context;
}

}  // namespace

Expected<SigningKey> SigningKey::read(const std::filesystem::path& path) {
  auto key =
      read_key(path, PEM_read_bio_PrivateKey_ex,
               "Ed25519 private key without a password: `openssl genpkey -algorithm ed25519 -out FILE` makes one");
  if (!key) return propagate(key);
  SigningKey result;
  result.key_ = std::move(*key);
  return result;
}

std::string SigningKey::sign(std::string_view bytes) const {
  const auto context = make_context();
  std::string signature(signature_bytes, '\0');
  std::size_t size = signature.size();
  auto* out = reinterpret_cast<std::uint8_t*>(signature.data());
  if (EVP_DigestSignInit_ex(context.get(), nullptr, nullptr, util::crypto_context(), nullptr, key_.get(), nullptr) !=
          1 ||
      EVP_DigestSign(context.get(), out, &size, octets(bytes), bytes.size()) != 1 || size != signature_bytes) {
    throw std::runtime_error("libcrypto cannot sign with Ed25519");
  }
  return signature;
}

Expected<VerifyKey> VerifyKey::read(const std::filesystem::path& path) {
  auto key = read_key(path, PEM_read_bio_PUBKEY_ex,
                      "Ed25519 public key: `openssl pkey -in PRIVATE -pubout -out FILE` makes it from the private one");
  if (!key) return propagate(key);
  VerifyKey result;
  result.key_ = std::move(*key);
  return result;
}

bool VerifyKey::accepts(std::string_view bytes, std::string_view signature) const {
  const auto context = make_context();
  const bool good =
      signature.size() == signature_bytes &&
      EVP_DigestVerifyInit_ex(context.get(), nullptr, nullptr, util::crypto_context(), nullptr, key_.get(), nullptr) ==
          1 &&
      EVP_DigestVerify(context.get(), octets(signature), signature.size(), octets(bytes), bytes.size()) == 1;
  ERR_clear_error();
  return good;
}

}  // namespace cubinet::cache
