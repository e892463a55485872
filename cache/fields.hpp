// Encodes and decodes the fields of the binary formats on disk: unsigned little-endian numbers, and digests as 32
// bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "util/digest.hpp"

namespace cubinet::cache {

inline constexpr std::size_t digest_bytes = 32;

inline void put_number(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xffU));
}

inline void put_digest(std::string& out, const util::Sha256& digest) {
  for (const std::uint8_t byte : digest) out.push_back(static_cast<char>(byte));
}

// Reads fields one after the other. Precondition: the bytes are long enough for what is read.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}
  std::string_view take(std::size_t count) {
    const std::string_view part = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return part;
  }
  std::uint64_t number(std::size_t count) {
    std::uint64_t value = 0;
    const std::string_view part = take(count);
    for (std::size_t i = part.size(); i-- > 0;) value = value << 8U | static_cast<std::uint8_t>(part[i]);
    return value;
  }
  util::Sha256 digest() {
    util::Sha256 value{};
    std::memcpy(value.data(), take(digest_bytes).data(), digest_bytes);
    return value;
  }

 private:
  std::string_view bytes_;
};

}  // namespace cubinet::cache
