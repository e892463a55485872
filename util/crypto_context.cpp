#include "util/crypto_context.hpp"

#include <openssl/crypto.h>
#include <openssl/provider.h>

#include <stdexcept>

namespace cubinet::util {
namespace {

OSSL_LIB_CTX* make_context() {
  // The first digest looks for engines, and that reads the configuration. A libcrypto that is linked in is ours alone,
  // and need not read any; a shared one is the process's, which may rely on it.
#ifndef CUBINET_SHARED_CRYPTO
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
#endif
  OSSL_LIB_CTX* const context = OSSL_LIB_CTX_new();
  if (context != nullptr && OSSL_PROVIDER_load(context, "default") != nullptr) return context;
  OSSL_LIB_CTX_free(context);
  throw std::runtime_error("libcrypto has no default provider");
}

}  // namespace

// Never freed: threads may use it while the process ends.
ossl_lib_ctx_st* crypto_context() {
  static OSSL_LIB_CTX* const context = make_context();
  return context;
}

}  // namespace cubinet::util
