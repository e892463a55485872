#include "cache/quarantine.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <tuple>
#include <vector>

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

// Removes a file, or a folder with its contents. A folder in quarantine/ may contain anything. Each removal goes
// through real folders only, never through a link: see util::SystemCalls.
void remove_all(util::SystemCalls& calls, const fs::path& path) {
  if (calls.unlink(path.native()) == 0 || errno != EISDIR) return;
  for (const std::string& name : names_in(path).value_or(std::vector<std::string>())) remove_all(calls, path / name);
  calls.rmdir(path.native());
}

struct Item {
  fs::path path;
  std::int64_t bytes = 0;
  // When it was moved here: a move sets a file's ctime and not its mtime.
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
};

std::vector<Item> items_in(const Layout& layout) {
  std::vector<Item> items;
  for (const std::string& name : names_in(layout.quarantine()).value_or(std::vector<std::string>())) {
    const fs::path path = layout.quarantine() / name;
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) continue;
    items.push_back(
        {path, S_ISREG(status.st_mode) ? status.st_size : 0, status.st_ctim.tv_sec, status.st_ctim.tv_nsec});
  }
  return items;
}

// Removes the oldest files until the rest is within the bounds.
void trim(util::SystemCalls& calls, const Layout& layout) {
  std::vector<Item> items = items_in(layout);
  std::int64_t bytes = 0;
  for (const Item& item : items) bytes += item.bytes;
  auto left = static_cast<std::int64_t>(items.size());
  if (left <= max_quarantined && bytes <= max_quarantined_bytes) return;
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return std::tie(a.seconds, a.nanoseconds, a.path) < std::tie(b.seconds, b.nanoseconds, b.path);
  });
  for (const Item& item : items) {
    if (left <= max_quarantined && bytes <= max_quarantined_bytes) return;
    remove_all(calls, item.path);
    --left;
    bytes -= item.bytes;
  }
}

}  // namespace

Expected<fs::path> set_aside(util::SystemCalls& calls, const Layout& layout, const fs::path& path,
                             std::string_view name) {
  const fs::path place = layout.quarantine() / util::unique_name(std::string(name) + ".");
  if (calls.rename(path.native(), place.native()) == 0) {
    trim(calls, layout);
    return place;
  }
  return fail(ErrorCode::io, util::system_message("set aside the damaged", path, errno));
}

bool was_set_aside(const Layout& layout, const Key& key) {
  return count(layout, [prefix = key.hex() + "."](const std::string& name) { return name.starts_with(prefix); }) > 0;
}

Quarantined measure_quarantine(const Layout& layout) {
  Quarantined measured;
  for (const Item& item : items_in(layout)) {
    ++measured.files;
    measured.bytes += item.bytes;
    if (!item.path.filename().native().starts_with("index.db")) ++measured.objects;
  }
  return measured;
}

std::int64_t sweep_quarantine(util::SystemCalls& calls, const Layout& layout, bool remove, std::int64_t until) {
  std::int64_t found = 0;
  for (const Item& item : items_in(layout)) {
    if (item.seconds > until) continue;
    ++found;
    if (remove) remove_all(calls, item.path);
  }
  return found;
}

}  // namespace cubinet::cache
