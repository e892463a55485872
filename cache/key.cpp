#include "cache/key.hpp"

#include "util/digest.hpp"

namespace cubinet::cache {

std::string Key::hex() const { return util::to_hex(bytes); }

std::optional<Key> Key::from_hex(std::string_view text) {
  Key key;
  if (!util::from_hex(text, key.bytes)) return std::nullopt;
  return key;
}

}  // namespace cubinet::cache
