#include "cache/layout.hpp"

#include <system_error>

#include "util/files.hpp"

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

Expected<std::vector<std::string>> names_in(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) names.push_back(it->path().filename().native());
  if (error && error != std::errc::no_such_file_or_directory) {
    return fail(ErrorCode::io, util::system_message("list", folder, error.value()));
  }
  return names;
}

}  // namespace cubinet::cache
