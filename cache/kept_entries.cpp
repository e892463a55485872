#include "cache/kept_entries.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

#include "util/clock.hpp"
#include "util/files.hpp"

namespace cubinet::cache {
namespace {

constexpr std::uint64_t max_lease_bytes = std::uint64_t{64} << 20;
constexpr std::size_t key_digits = 64;

// Parses one key per line. Text after the last line feed is still being written.
void add_keys(std::string_view text, std::set<Key>& keys) {
  for (std::size_t at = 0; at + key_digits < text.size(); at += key_digits + 1) {
    if (const auto key = Key::from_hex(text.substr(at, key_digits))) keys.insert(*key);
  }
}

// Without file locks it is unknown whether the process is running: its file is valid for 30 days.
bool is_held(const std::filesystem::path& path) {
  constexpr std::int64_t month = 30 * util::seconds_per_day;
  const util::LockState state = util::lock_state(path);
  struct stat status {};
  if (state != util::LockState::unknown || ::lstat(path.c_str(), &status) != 0) return state == util::LockState::held;
  return util::system_clock().seconds() - status.st_mtim.tv_sec < month;
}

}  // namespace

// A sweep may remove the file between its creation and its locking; then another one is created.
void Lease::open() {
  if (!is_there(layout_.format()) || !util::make_folder(calls_, layout_.in_use(), 0755)) return;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto path = layout_.in_use() / util::unique_name("");
    auto lock = util::FileLock::acquire(path, std::chrono::milliseconds(0), calls_);
    if (!lock || !*lock) return;
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    path_ = path;
    lock_ = std::move(*lock);
    owner_ = ::getpid();
    return;
  }
}

void Lease::add(const std::vector<Key>& keys) {
  if (keys.empty()) return;
  if (!lock_) open();
  if (!lock_) return;
  for (const Key& key : keys) text_ += key.hex() + '\n';
  lock_->write(text_);
}

Lease::~Lease() {
  if (lock_ && owner_ == ::getpid()) calls_.unlink(path_.native());
}

Expected<std::set<Key>> read_leases(const Layout& layout) {
  const auto names = names_in(layout.in_use());
  if (!names) return propagate(names);
  std::set<Key> keys;
  for (const std::string& name : *names) {
    const auto path = layout.in_use() / name;
    if (!is_held(path)) continue;
    const auto text = util::read_file(path, max_lease_bytes, false);
    if (text) add_keys(*text, keys);
    if (!text && text.error().code != ErrorCode::not_found) return propagate(text);
  }
  return keys;
}

void sweep_leases(util::SystemCalls& calls, const Layout& layout) {
  const auto names = names_in(layout.in_use());
  if (!names) return;
  for (const std::string& name : *names) {
    const auto path = layout.in_use() / name;
    if (!is_held(path)) calls.unlink(path.native());
  }
}

Expected<void> add_pin(util::SystemCalls& calls, const Layout& layout, const Key& key) {
  if (auto made = util::make_folder(calls, layout.pins(), 0755); !made) return made;
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  util::File file(calls.open(layout.pin(key).native(), flags, 0644), calls);
  if (!file && errno != EEXIST) return util::fail_system("create", layout.pin(key), errno);
  if (file.close() != 0) return util::fail_system("create", layout.pin(key), errno);
  // An existing pin may not be durable yet: its creator may have been killed before the sync.
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
