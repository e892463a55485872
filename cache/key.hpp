// The name of an entry: the SHA-256 of its record.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "util/digest.hpp"

namespace cubinet::cache {

struct Key {
  std::array<std::uint8_t, 32> bytes{};

  // 64 lower-case hexadecimal digits.
  [[nodiscard]] std::string hex() const { return util::to_hex(bytes); }
  // Reads 64 hexadecimal digits in either case. nullopt for any other text.
  static std::optional<Key> from_hex(std::string_view text) {
    Key key;
    return util::from_hex(text, key.bytes) ? std::optional(key) : std::nullopt;
  }
  friend auto operator<=>(const Key&, const Key&) = default;
};

}  // namespace cubinet::cache
