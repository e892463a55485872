// The name of an entry: SHA-256 over its canonical record.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cubinet::cache {

struct Key {
  std::array<std::uint8_t, 32> bytes{};

  [[nodiscard]] std::string hex() const;  // 64 lower-case digits
  static std::optional<Key> from_hex(std::string_view text);
  friend auto operator<=>(const Key&, const Key&) = default;
};

}  // namespace cubinet::cache
