// The file that tells other programs how far a warmup is. docs/design.md says how a watchdog reads it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "tools/progress_counts.hpp"
#include "util/expected.hpp"
#include "util/system_calls.hpp"

namespace cubinet::tools {

// Compiling and executing go on; the others are how it ended.
enum class ProgressState { compiling, executing, done, failed, interrupted };

// "compiling", ...
std::string state_name(ProgressState state);

// The file's text: one JSON object on a line. `heartbeat` is the time of day, in seconds since 1970. Pure. Throws
// std::bad_alloc alone; no tree of JSON values is built, since taking one down takes memory, too.
std::string progress_object(const ProgressCounts& counts, ProgressState state, const std::string& message,
                            std::int64_t process, double heartbeat);

// Whether the file is due `since_last` seconds after it was last written: a change is told at most four times a second,
// and without one the heartbeat is no more than a second old. Pure.
bool progress_due(double since_last, bool changed);

// util::replace_file, not synced: a heartbeat is worth nothing after a power failure.
Expected<void> replace_progress(util::SystemCalls& calls, const std::filesystem::path& path, const std::string& text);

// Removes the file, if it is one that replace_progress replaces. Best effort.
void remove_progress(util::SystemCalls& calls, const std::filesystem::path& path) noexcept;

}  // namespace cubinet::tools
