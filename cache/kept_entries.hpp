// Entries that are never evicted: pinned ones (a file pins/<key> for each), and those that a running process has loaded
// (a locked file in_use/<unique> for each process). Neither depends on the index.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cache/layout.hpp"
#include "util/expected.hpp"
#include "util/file_lock.hpp"
#include "util/system_calls.hpp"

namespace cubinet::cache {

// Lists the entries that this process has loaded in a file that it keeps locked (flock). The kernel releases the lock
// when the process ends for any reason, and an unlocked file is ignored. An engine has one lease, with one open file;
// look-ups do not touch it. Not thread-safe. Best effort: evicting an entry does not disturb a process that has loaded
// it, but the process's next start misses.
class Lease {
 public:
  // `calls` must outlive it.
  Lease(Layout layout, util::SystemCalls& calls) : layout_(std::move(layout)), calls_(calls) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  // Removes the file, except in a child made by fork, which shares it with its parent.
  ~Lease();

  // Adds keys to the file. The first call creates it.
  void add(const std::vector<Key>& keys);

 private:
  void open();

  Layout layout_;
  util::SystemCalls& calls_;
  std::filesystem::path path_;
  std::optional<util::FileLock> lock_;
  pid_t owner_ = 0;
  std::string text_;
};

// Returns the keys that running processes hold. io when in_use/, or a locked file in it, cannot be read.
Expected<std::set<Key>> read_leases(const Layout& layout);

// Removes the files of processes that have ended.
void sweep_leases(util::SystemCalls& calls, const Layout& layout);

// Pins a key, durably. Succeeds if it is pinned already.
Expected<void> add_pin(util::SystemCalls& calls, const Layout& layout, const Key& key);

// Removes a pin. False when there was none.
Expected<bool> drop_pin(util::SystemCalls& calls, const Layout& layout, const Key& key);

// Returns the pinned keys; names that are not keys are skipped. io when pins/ cannot be read.
Expected<std::set<Key>> read_pins(const Layout& layout);

}  // namespace cubinet::cache
