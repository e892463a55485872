// Damaged files are set aside, not deleted, so that somebody can look at them.
#pragma once

#include <cstdint>
#include <string_view>

#include "cache/layout.hpp"
#include "util/expected.hpp"
#include "util/system_calls.hpp"

namespace cubinet::cache {

// At most so many files are kept; above it a damaged file is deleted instead.
inline constexpr std::int64_t max_quarantined = 1000;

// Moves `path` (a file, a link or a folder) to quarantine/<name>.<unique> and returns where it went; an empty path when
// it was deleted instead. Of several processes that set the same file aside one succeeds; the others get an error.
Expected<std::filesystem::path> set_aside(util::SystemCalls& calls, const Layout& layout,
                                          const std::filesystem::path& path, std::string_view name);

// Whether an object of this key is there.
bool was_set_aside(const Layout& layout, const Key& key);

// How many damaged objects are in quarantine. (A damaged index may lie there too; it is not counted.)
std::int64_t count_quarantined_objects(const Layout& layout);

// Counts what was set aside at `until` (seconds since 1970) or earlier; removes it if asked.
std::int64_t sweep_quarantine(util::SystemCalls& calls, const Layout& layout, bool remove, std::int64_t until);

}  // namespace cubinet::cache
