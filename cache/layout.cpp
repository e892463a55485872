#include "cache/layout.hpp"

#include <algorithm>
#include <system_error>

#include "util/files.hpp"

namespace cubinet::cache {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view suffix = ".cubin";

}  // namespace

fs::path Layout::object(const Key& key) const {
  const std::string hex = key.hex();
  return objects() / hex.substr(0, 2) / (hex.substr(2) + std::string(suffix));
}

std::optional<Key> Layout::object_key(std::string_view folder, std::string_view file) {
  if (folder.size() != 2 || !file.ends_with(suffix)) return std::nullopt;
  file.remove_suffix(suffix.size());
  const std::string hex = std::string(folder) + std::string(file);
  const bool lower = std::none_of(hex.begin(), hex.end(), [](char c) { return c >= 'A' && c <= 'F'; });
  return lower ? Key::from_hex(hex) : std::nullopt;
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error));
}

Expected<std::vector<std::string>> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    const std::string& path = it->path().native();
    names.push_back(path.substr(path.rfind('/') + 1));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return fail(ErrorCode::io, util::system_message("list", folder, error.value()));
  }
  return names;
}

}  // namespace cubinet::cache
