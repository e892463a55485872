#include "cache/layout.hpp"

#include <string>

namespace cubinet::cache {
namespace {

constexpr std::string_view suffix = ".cubin";

}  // namespace

std::filesystem::path Layout::object(const Key& key) const {
  const std::string hex = key.hex();
  return objects() / hex.substr(0, 2) / (hex.substr(2) + std::string(suffix));
}

std::optional<Key> Layout::object_key(std::string_view folder, std::string_view file) {
  if (folder.size() != 2 || !file.ends_with(suffix)) return std::nullopt;
  file.remove_suffix(suffix.size());
  const std::string hex = std::string(folder) + std::string(file);
  const auto key = Key::from_hex(hex);
  if (!key || key->hex() != hex) return std::nullopt;
  return key;
}

}  // namespace cubinet::cache
