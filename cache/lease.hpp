// Which entries a running process has loaded, so that no collection takes them: a file in_use/<unique> with the keys,
// locked (flock) for as long as the process lives. The kernel releases the lock when the process dies, however it does,
// and a file that nobody has locked says nothing.
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

// One for an engine, with one open file; none of it is on the path of a look-up. Not thread-safe. Best effort: an
// eviction takes nothing from a process that has the entry loaded, but its next start would miss.
class Lease {
 public:
  // `calls` must outlive it.
  Lease(Layout layout, util::SystemCalls& calls) : layout_(std::move(layout)), calls_(calls) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  // Takes all of it back, except in a child made by fork, which shares it with its parent.
  ~Lease();

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

// The keys that living processes hold. io when the folder, or a file in it that is held, cannot be read.
Expected<std::set<Key>> read_leases(const Layout& layout);

// Removes the files of processes that are gone.
void sweep_leases(util::SystemCalls& calls, const Layout& layout);

}  // namespace cubinet::cache
