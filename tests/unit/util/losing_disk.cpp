#include "unit/util/losing_disk.hpp"

#include <fcntl.h>

#include <cerrno>

#include "unit/util/temp_folder.hpp"

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

std::size_t below(std::mt19937& random, std::size_t end) { return random() % end; }

}  // namespace

LosingDisk::LosingDisk(fs::path top) : top_(std::move(top)), root_(std::make_shared<Node>()) { root_->folder = true; }

bool LosingDisk::fails() {
  ++calls;
  if (!dead()) return false;
  errno = EIO;
  return true;
}

// Returns null if the model has no such name.
LosingDisk::NodePtr LosingDisk::find(const fs::path& path) const {
  NodePtr node = root_;
  for (const fs::path& part : path.lexically_relative(top_)) {
    if (part == ".") continue;
    const auto it = node->names.find(part.native());
    if (it == node->names.end()) return nullptr;
    node = it->second;
  }
  return node;
}

// Sets a name to the node, or removes it (null).
void LosingDisk::name(const fs::path& path, const NodePtr& node) {
  const NodePtr folder = find(path.parent_path());
  if (!folder) return;
  const std::string last = path.filename().native();
  if (node) folder->names[last] = node;
  if (!node) folder->names.erase(last);
  folder->changes[last].push_back(node);
}

int LosingDisk::open(const std::string& path, int flags, mode_t mode) {
  if (fails()) return -1;
  const int file = SystemCalls::open(path, flags, mode);
  if (file < 0) return file;
  if ((flags & O_CREAT) != 0 && !find(path)) name(path, std::make_shared<Node>());
  open_[file] = find(path);
  return file;
}

ssize_t LosingDisk::write(int file, const char* bytes, std::size_t count) {
  if (fails()) return -1;
  // In pieces, so that a kill can happen between two of them.
  const ssize_t written = SystemCalls::write(file, bytes, std::min<std::size_t>(count, 400));
  if (written > 0) open_[file]->bytes.append(bytes, static_cast<std::size_t>(written));
  return written;
}

int LosingDisk::fsync(int file) {
  if (fails()) return -1;
  const NodePtr node = open_[file];
  if (!node || (node->folder ? forgets_folders : forgets_files)) return 0;
  node->safe = node->bytes.size();
  node->safe_names = node->names;
  node->changes.clear();
  return 0;
}

int LosingDisk::close(int file) {
  const bool failing = fails();
  open_.erase(file);
  const int closed = SystemCalls::close(file);
  if (failing) errno = EIO;
  return failing ? -1 : closed;
}

int LosingDisk::link(const std::string& from, const std::string& to) {
  if (fails()) return -1;
  const int linked = SystemCalls::link(from, to);
  if (linked == 0) name(to, find(from));
  return linked;
}

int LosingDisk::rename(const std::string& from, const std::string& to) {
  if (fails()) return -1;
  const int renamed = SystemCalls::rename(from, to);
  if (renamed != 0) return renamed;
  name(to, find(from));
  name(from, nullptr);
  return 0;
}

int LosingDisk::unlink(const std::string& path) {
  if (fails()) return -1;
  const int unlinked = SystemCalls::unlink(path);
  if (unlinked == 0) name(path, nullptr);
  return unlinked;
}

int LosingDisk::mkdir(const std::string& path, mode_t mode) {
  if (fails()) return -1;
  const int made = SystemCalls::mkdir(path, mode);
  if (made != 0) return made;
  const auto node = std::make_shared<Node>();
  node->folder = true;
  name(path, node);
  return 0;
}

void LosingDisk::spoil(const fs::path& path, const std::string& bytes) {
  write_file(path, bytes);
  const NodePtr node = find(path);
  node->bytes = bytes;
  node->safe = bytes.size();
}

// The bytes after a loss of power: of what was not synced a part survives, and the rest is missing, zero or complete.
std::string LosingDisk::surviving_bytes(std::mt19937& random, const Node& file) {
  std::string bytes = file.bytes;
  const std::size_t kept = file.safe + below(random, bytes.size() - file.safe + 1);
  switch (below(random, 3)) {
    case 0:
      bytes.resize(kept);
      break;
    case 1:
      std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(kept), bytes.end(), '\0');
      break;
    default:
      break;
  }
  return bytes;
}

void LosingDisk::restore(std::mt19937& random, const Node& folder, const fs::path& place) {
  auto names = folder.safe_names;
  for (const auto& [name, history] : folder.changes) {
    // Each name is, independently, in its state after one of its changes, or before the first.
    const std::size_t seen = below(random, history.size() + 1);
    if (seen > 0) names[name] = history[seen - 1];
  }
  for (const auto& [name, node] : names) {
    if (!node) continue;
    if (!node->folder) {
      write_file(place / name, surviving_bytes(random, *node));
      continue;
    }
    fs::create_directory(place / name);
    restore(random, *node, place / name);
  }
}

void LosingDisk::lose_power(std::mt19937& random, const fs::path& place) const { restore(random, *root_, place); }

}  // namespace cubinet::test
