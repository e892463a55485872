// The folder quarantine/: damaged files are moved there instead of being deleted, so that they can be examined.
#pragma once

#include <cstdint>
#include <string_view>

#include "cache/layout.hpp"
#include "util/expected.hpp"
#include "util/system_calls.hpp"

namespace cubinet::cache {

// At most this many files and bytes are kept, whatever the limits of the root; above that the oldest are removed.
inline constexpr std::int64_t max_quarantined = 1000;
inline constexpr std::int64_t max_quarantined_bytes = std::int64_t{256} << 20;

// Moves `path` (a file, a link or a folder) to quarantine/<name>.<unique> and returns its new path. Of several
// processes that move the same file one succeeds; the others get an error.
Expected<std::filesystem::path> set_aside(util::SystemCalls& calls, const Layout& layout,
                                          const std::filesystem::path& path, std::string_view name);

// Whether quarantine/ holds an object of this key.
bool was_set_aside(const Layout& layout, const Key& key);

struct Quarantined {
  std::int64_t objects = 0;  // everything but damaged indexes
  std::int64_t files = 0;    // everything
  std::int64_t bytes = 0;    // of the files; the contents of folders are not counted
};
Quarantined measure_quarantine(const Layout& layout);

// Counts what was moved there at `until` (seconds since 1970) or earlier, and with `remove` removes it.
std::int64_t sweep_quarantine(util::SystemCalls& calls, const Layout& layout, bool remove, std::int64_t until);

}  // namespace cubinet::cache
