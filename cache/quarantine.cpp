#include "cache/quarantine.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "util/files.hpp"

namespace cubinet::cache {
namespace {

namespace fs = std::filesystem;

template <class Predicate>
std::int64_t count(const Layout& layout, Predicate wanted) {
  std::int64_t found = 0;
  std::error_code error;
  fs::directory_iterator it(layout.quarantine(), error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (wanted(it->path().filename().native())) ++found;
  }
  return found;
}

}  // namespace

Expected<fs::path> set_aside(util::SystemCalls& calls, const Layout& layout, const fs::path& path,
                             std::string_view name) {
  std::error_code error;
  const bool folder = fs::is_directory(fs::symlink_status(path, error));
  const bool full = count(layout, [](const std::string&) { return true; }) >= max_quarantined;
  if (full && !folder) {
    if (calls.unlink(path.native()) == 0) return fs::path();
    return fail(ErrorCode::io, util::system_message("remove the damaged", path, errno));
  }
  const fs::path place = layout.quarantine() / util::unique_name(std::string(name) + ".");
  if (calls.rename(path.native(), place.native()) == 0) return place;
  return fail(ErrorCode::io, util::system_message("set aside the damaged", path, errno));
}

bool was_set_aside(const Layout& layout, const Key& key) {
  return count(layout, [prefix = key.hex() + "."](const std::string& name) { return name.starts_with(prefix); }) > 0;
}

std::int64_t count_quarantined_objects(const Layout& layout) {
  return count(layout, [](const std::string& name) { return !name.starts_with("index.db"); });
}

}  // namespace cubinet::cache
