// SHA-256 and hexadecimal text.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cubinet::util {

using Sha256 = std::array<std::uint8_t, 32>;

// SHA-256 of the bytes (FIPS 180-4). Thread-safe. Throws std::runtime_error only if libcrypto itself is broken.
Sha256 sha256(std::string_view bytes);

// SHA-256 as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

// Two lower-case digits a byte.
std::string to_hex(std::span<const std::uint8_t> bytes);

// Whether every character is a hexadecimal digit, either case.
bool is_hex(std::string_view text);

// Reads exactly 2 * out.size() digits, either case, into `out`. False, with `out` unspecified, for anything else.
bool from_hex(std::string_view text, std::span<std::uint8_t> out);

}  // namespace cubinet::util
