// SHA-256, hexadecimal text, and the libcrypto context that both digests and signatures use.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

struct ossl_lib_ctx_st;  // OSSL_LIB_CTX

namespace cubinet::util {

using Sha256 = std::array<std::uint8_t, 32>;

// SHA-256 of the bytes (FIPS 180-4). Thread-safe. Throws std::runtime_error only if libcrypto itself is broken.
Sha256 sha256(std::string_view bytes);

// SHA-256 as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

// Two lower-case digits per byte.
std::string to_hex(std::span<const std::uint8_t> bytes);

// Whether every character is a hexadecimal digit, in either case.
bool is_hex(std::string_view text);

// Reads exactly 2 * out.size() digits, in either case, into `out`. Returns false, with `out` unspecified, for any other
// text.
bool from_hex(std::string_view text, std::span<std::uint8_t> out);

// A library context with libcrypto's default provider, independent of the machine's openssl.cnf and OPENSSL_CONF: those
// configure the default context, which other code in the process may use. The first call creates the context; it lives
// as long as the process. Thread-safe, and usable in the child of a fork. Throws std::runtime_error if libcrypto cannot
// create it.
ossl_lib_ctx_st* crypto_context();

}  // namespace cubinet::util
