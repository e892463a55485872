#include "cache/pins.hpp"

#include <fcntl.h>

#include <cerrno>

#include "util/files.hpp"

namespace cubinet::cache {

Expected<void> add_pin(util::SystemCalls& calls, const Layout& layout, const Key& key) {
  if (auto made = util::make_folder(calls, layout.pins(), 0755); !made) return made;
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  util::File file(calls.open(layout.pin(key).native(), flags, 0644), calls);
  if (!file && errno != EEXIST) return util::fail_system("create", layout.pin(key), errno);
  if (file.close() != 0) return util::fail_system("create", layout.pin(key), errno);
  // One that is there already may not be durable: whoever set it can have been killed before that.
  if (auto synced = util::sync_folder(calls, layout.pins()); !synced) return synced;
  return util::sync_folder(calls, layout.root);
}

Expected<bool> drop_pin(util::SystemCalls& calls, const Layout& layout, const Key& key) {
  if (calls.unlink(layout.pin(key).native()) != 0) {
    if (errno == ENOENT) return false;
    return fail(ErrorCode::io, util::system_message("remove", layout.pin(key), errno));
  }
  if (auto synced = util::sync_folder(calls, layout.pins()); !synced) return propagate(synced);
  return true;
}

Expected<std::set<Key>> read_pins(const Layout& layout) {
  const auto names = names_in(layout.pins());
  if (!names) return propagate(names);
  std::set<Key> pins;
  for (const std::string& name : *names) {
    if (const auto key = Key::from_hex(name)) pins.insert(*key);
  }
  return pins;
}

}  // namespace cubinet::cache
