#include "cache/quarantine.hpp"

#include <sys/stat.h>

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

// What `path` leads to was moved here by somebody who took it for damaged; a folder may have anything in it. Names are
// listed through whatever lies there, and removed through real folders alone: see util::SystemCalls.
void remove_all(util::SystemCalls& calls, const fs::path& path) {
  if (calls.unlink(path.native()) == 0 || errno != EISDIR) return;
  for (const std::string& name : names_in(path).value_or(std::vector<std::string>())) remove_all(calls, path / name);
  calls.rmdir(path.native());
}

}  // namespace

Expected<fs::path> set_aside(util::SystemCalls& calls, const Layout& layout, const fs::path& path,
                             std::string_view name) {
  const bool folder = is_folder(path);
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

// Moving a file changes the time of its last change of status, and not that of its contents.
std::int64_t sweep_quarantine(util::SystemCalls& calls, const Layout& layout, bool remove, std::int64_t until) {
  std::int64_t found = 0;
  for (const std::string& name : names_in(layout.quarantine()).value_or(std::vector<std::string>())) {
    const fs::path path = layout.quarantine() / name;
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || status.st_ctim.tv_sec > until) continue;
    ++found;
    if (remove) remove_all(calls, path);
  }
  return found;
}

}  // namespace cubinet::cache
