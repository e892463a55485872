#include "cache/object_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "cache/object_format.hpp"
#include "cache/quarantine.hpp"
#include "util/clock.hpp"
#include "util/file_lock.hpp"

namespace cubinet::cache {
namespace {

namespace fs = std::filesystem;

Expected<Object> read_object(const fs::path& path, const Key& key) {
  auto bytes = util::read_file(path, max_object_bytes, false);
  if (!bytes) return propagate(bytes);
  return decode_object(std::move(*bytes), key);
}

// 0 for anything but a regular file. No object has this size, so the file is read and reported as damaged. `name` is
// relative to the open folder, which is faster than whole paths for 100,000 files.
std::int64_t size_of(int folder, const std::string& name) {
  struct stat status {};
  const bool regular = ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
  return regular ? static_cast<std::int64_t>(status.st_size) : 0;
}

// Whether a running writer has a file in tmp/, see util::publish_file. Without locks, a file younger than a day counts
// as being written.
bool is_being_written(const fs::path& path, const struct stat& status) {
  const util::LockState state = util::lock_state(path);
  const bool young = util::system_clock().seconds() - status.st_mtim.tv_sec < util::seconds_per_day;
  return state == util::LockState::held || (state == util::LockState::unknown && young);
}

bool is_shard(const fs::path& folder) {
  const std::string name = folder.filename().native();
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return name.size() == 2 && hex(name[0]) && hex(name[1]) && is_folder(folder);
}

}  // namespace

Expected<Object> ObjectStore::read(const Key& key) const {
  const fs::path path = layout_.object(key);
  if (!own_files_only_) return read_object(path, key);
  return util::read_own_file(path, max_object_bytes).and_then([&](std::string bytes) {
    return decode_object(std::move(bytes), key);
  });
}

// Creates the folder of an entry, durably: it is synced in any case, since its creator may have been killed before its
// sync. Anything else in its place, such as a link out of the root, is moved to quarantine.
Expected<void> ObjectStore::make_shard(const fs::path& shard) const {
  if (!is_folder(shard)) {
    if (is_there(shard)) static_cast<void>(set_aside(calls_, layout_, shard, shard.filename().native()));
    if (auto made = util::make_folder(calls_, shard, 0755); !made) return made;
  }
  return util::sync_folder(calls_, layout_.objects());
}

// Returns the facts of the stored entry; nullopt if there is none. A damaged entry is moved to quarantine.
Expected<std::optional<Facts>> ObjectStore::facts(const Key& key) const {
  auto object = read(key);
  if (object) return std::move(object->facts);
  if (object.error().code == ErrorCode::not_found) return std::nullopt;
  if (object.error().code != ErrorCode::invalid_argument) return propagate(object);
  auto moved = set_damaged_aside(key);
  if (!moved && exists(key)) return propagate(moved);
  if (!moved || *moved) return std::nullopt;
  object = read(key);  // a sound one has replaced it
  if (!object) return std::nullopt;
  return std::move(object->facts);
}

Expected<util::Published> ObjectStore::publish(const Key& key, const Object& object, const Replaces& replaces) const {
  const auto footer = encode_footer(key, object);
  if (!footer) return propagate(footer);
  const fs::path target = layout_.object(key);
  if (auto made = make_shard(target.parent_path()); !made) return propagate(made);
  const auto present = facts(key);
  if (!present) return propagate(present);
  const bool replacing = *present && replaces && replaces(**present);
  if (!*present || replacing) {
    const auto existing = replacing ? util::Existing::replaced : util::Existing::kept;
    return util::publish_file(calls_, layout_.tmp(), target, {object.payload, *footer}, existing);
  }
  // The process that published it may not have synced it yet.
  if (auto synced = util::sync_folder(calls_, target.parent_path()); !synced) {
    return propagate(synced);
  }
  return util::Published::already_there;
}

Expected<bool> ObjectStore::set_damaged_aside(const Key& key) const {
  const fs::path path = layout_.object(key);
  if (!is_folder(path.parent_path())) {
    return util::fail_system("enter", path.parent_path(), ENOTDIR);
  }
  const auto moved = set_aside(calls_, layout_, path, key.hex());
  if (!moved) return propagate(moved);
  // Between the check and the move another process may have done the same and published a sound object.
  if (!read_object(*moved, key)) return true;
  const int linked = calls_.link(moved->native(), path.native());
  if (linked != 0 && errno != EEXIST) return util::fail_system("put back", path, errno);
  calls_.unlink(moved->native());
  if (auto synced = util::sync_folder(calls_, path.parent_path()); !synced) return propagate(synced);
  return false;
}

bool ObjectStore::set_stranger_aside(const std::string& name) const {
  const fs::path path = layout_.objects() / name;
  return set_aside(calls_, layout_, path, path.filename().native()).has_value();
}

Expected<bool> ObjectStore::evict(const Key& key) const {
  const fs::path path = layout_.object(key);
  if (!is_folder(path.parent_path())) return false;
  if (calls_.unlink(path.native()) == 0) return true;
  if (errno == ENOENT) return false;
  return fail(ErrorCode::io, util::system_message("remove", path, errno));
}

Expected<bool> ObjectStore::remove(const Key& key) const {
  const fs::path path = layout_.object(key);
  const auto removed = evict(key);
  if (!removed || !*removed) return removed;
  if (auto synced = util::sync_folder(calls_, path.parent_path()); !synced) {
    return propagate(synced);
  }
  return true;
}

// An object that cannot be examined for lack of permission counts as there.
bool ObjectStore::exists(const Key& key) const {
  struct stat status {};
  return ::lstat(layout_.object(key).c_str(), &status) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

std::int64_t ObjectStore::size(const Key& key) const { return size_of(AT_FDCWD, layout_.object(key).native()); }

Expected<Layer::Listing> ObjectStore::list() const {
  Listing listing;
  const auto shards = names_in(layout_.objects());
  if (!shards) return propagate(shards);
  for (const std::string& shard : *shards) {
    const fs::path folder = layout_.objects() / shard;
    if (!is_shard(folder)) {
      listing.strangers.push_back(shard);
      continue;
    }
    const auto files = names_in(folder);
    if (!files) {
      listing.unreadable.push_back({shard, files.error().message});
      continue;
    }
    const util::File opened(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                            util::system_calls());
    for (const std::string& file : *files) {
      if (const auto key = Layout::object_key(shard, file)) {
        listing.objects.emplace(*key, size_of(opened.get(), file));
      } else {
        listing.strangers.push_back(shard + "/" + file);
      }
    }
  }
  return listing;
}

std::int64_t ObjectStore::leftovers(bool remove, std::int64_t until) const {
  std::int64_t found = 0;
  const auto names = names_in(layout_.tmp());
  if (!names) return 0;
  for (const std::string& name : *names) {
    const fs::path path = layout_.tmp() / name;
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || status.st_mtim.tv_sec > until) continue;
    if (is_being_written(path, status)) continue;
    ++found;
    if (!remove || calls_.unlink(path.native()) == 0 || errno != EISDIR) continue;
    static_cast<void>(set_aside(calls_, layout_, path, name));
  }
  return found;
}

}  // namespace cubinet::cache
