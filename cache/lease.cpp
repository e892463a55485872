#include "cache/lease.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <system_error>

#include "util/clock.hpp"
#include "util/files.hpp"

namespace cubinet::cache {
namespace {

constexpr std::uint64_t max_lease_bytes = std::uint64_t{64} << 20;
constexpr std::size_t key_digits = 64;

// One key a line. What follows the last line feed is a line that is being written.
void add_keys(std::string_view text, std::set<Key>& keys) {
  for (std::size_t at = 0; at + key_digits < text.size(); at += key_digits + 1) {
    if (const auto key = Key::from_hex(text.substr(at, key_digits))) keys.insert(*key);
  }
}

// Where the file system keeps no locks, nobody knows who lives: a file counts for so long.
bool is_held(const std::filesystem::path& path) {
  constexpr std::int64_t month = std::int64_t{30} * 86'400;
  const util::LockState state = util::lock_state(path);
  struct stat status {};
  if (state != util::LockState::unknown || ::lstat(path.c_str(), &status) != 0) return state == util::LockState::held;
  return util::system_clock().seconds() - status.st_mtim.tv_sec < month;
}

}  // namespace

// Who sweeps may take the file away between its making and its locking: then another one is made.
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

}  // namespace cubinet::cache
