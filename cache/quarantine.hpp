// Damaged files are set aside, not deleted, so that somebody can look at them.
#pragma once

#include <cstdint>
#include <string_view>

#include "cache/layout.hpp"
#include "util/expected.hpp"
#include "util/system_calls.hpp"

namespace cubinet::cache {

// At most so many files and bytes are kept, whatever the limits of the root say; above it the oldest are removed.
inline constexpr std::int64_t max_quarantined = 1000;
inline constexpr std::int64_t max_quarantined_bytes = std::int64_t{256} << 20;

// Moves `path` (a file, a link or a folder) to quarantine/<name>.<unique> and returns where it went. Of several
// processes that set the same file aside one succeeds; the others get an error.
Expected<std::filesystem::path> set_aside(util::SystemCalls& calls, const Layout& layout,
                                          const std::filesystem::path& path, std::string_view name);

// Whether an object of this key is there.
bool was_set_aside(const Layout& layout, const Key& key);

struct Quarantined {
  std::int64_t objects = 0;  // damaged objects, and strangers
  std::int64_t files = 0;    // all there is, damaged indexes too
  std::int64_t bytes = 0;    // of the files; what a folder there holds is not looked at
};
Quarantined measure_quarantine(const Layout& layout);

// Counts what was set aside at `until` (seconds since 1970) or earlier; removes it if asked.
std::int64_t sweep_quarantine(util::SystemCalls& calls, const Layout& layout, bool remove, std::int64_t until);

}  // namespace cubinet::cache
