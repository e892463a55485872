// The library context of libcrypto that everything of ours works in.
#pragma once

struct ossl_lib_ctx_st;  // OSSL_LIB_CTX

namespace cubinet::util {

// A context that has libcrypto's default provider, and that no configuration reaches: what the machine's openssl.cnf
// (or OPENSSL_CONF) says of providers, properties and engines is for the default context, which may be the process's
// where libcrypto is shared. Made by the first call, kept to the end of the process; thread-safe, and usable in the
// child of a fork. Throws std::runtime_error if libcrypto cannot make it.
ossl_lib_ctx_st* crypto_context();

}  // namespace cubinet::util
