// The file that tells other programs how far a warmup is. docs/design.md says how a watchdog reads it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "tools/progress_counts.hpp"
#include "util/expected.hpp"
#include "util/system_calls.hpp"

namespace cubinet::tools {

// A process's number says nothing outside its own namespace: in two containers on one volume both runs may be
// process 1.
struct RunIdentity {
  std::int64_t process = 0;
  std::string run;            // 32 hexadecimal digits, of this run alone
  std::string host;           // the machine's or container's name
  std::string pid_namespace;  // in which `process` counts: the machine's boot and the namespace; empty: not known
};

// Of this process, drawn by the first call; the child of a fork is another run. Thread-safe. Throws std::bad_alloc.
RunIdentity this_run();

// Compiling and executing go on; the others are how it ended.
enum class ProgressState { compiling, executing, done, failed, interrupted };

// "compiling", ...
std::string state_name(ProgressState state);

// The file's text: one JSON object on a line. `heartbeat` is the time of day, in seconds since 1970. Pure. Throws
// std::bad_alloc alone; no tree of JSON values is built, since taking one down takes memory, too.
std::string progress_object(const ProgressCounts& counts, ProgressState state, const std::string& message,
                            const RunIdentity& run, double heartbeat);

// Whether the file is due `since_last` seconds after it was last written: a change is told at most four times a second,
// and without one the heartbeat is no more than a second old. Pure.
bool progress_due(double since_last, bool changed);

// What a progress file says of the run that wrote it.
struct ProgressMark {
  RunIdentity run;  // of a build that wrote no more than `process`, the rest is empty
  bool is_final = false;
  double heartbeat = 0;
};

// Of the file that is there; nullopt where nothing is, an empty file, or what replace_progress refuses. What a run
// wrote is known by its beginning. invalid_argument: the file holds something else, which nobody has said may go.
Expected<std::optional<ProgressMark>> read_progress(const std::filesystem::path& path);

// Whether another run than `own` keeps the file up to date at `now`, seconds since 1970: its state is not final and its
// heartbeat younger than 10 seconds. That it has ended is known earlier where its process counts in our namespace.
bool kept_by_another(const ProgressMark& mark, const RunIdentity& own, double now);

// Why the run `own` may not write the file now.
struct ProgressObstacle {
  std::string message;
  std::optional<ProgressMark> keeper;  // another run; none: the file is no progress file
};

// What read_progress or kept_by_another has against it; none where the file may be written.
std::optional<ProgressObstacle> progress_obstacle(const std::filesystem::path& path, const RunIdentity& own,
                                                  double now);

// util::replace_file, not synced: a heartbeat is worth nothing after a power failure.
Expected<void> replace_progress(util::SystemCalls& calls, const std::filesystem::path& path, const std::string& text);

// Removes the file, if it is one that replace_progress replaces, even without a free descriptor. Best effort.
void remove_progress(util::SystemCalls& calls, const std::filesystem::path& path) noexcept;

}  // namespace cubinet::tools
