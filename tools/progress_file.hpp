// The file that shows other programs the progress of a warmup. docs/operations.md says how a watchdog reads it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "tools/progress_counts.hpp"
#include "util/expected.hpp"
#include "util/system_calls.hpp"

namespace cubinet::tools {

// Identifies a run of the command. A process id is not enough: in two containers that share a volume both runs may be
// process 1.
struct RunIdentity {
  std::int64_t process = 0;
  std::string run;            // 32 random hexadecimal digits
  std::string host;           // name of the machine or container
  std::string pid_namespace;  // in which `process` is valid: the machine's boot and the namespace; empty: unknown
};

// The identity of this process, created by the first call; the child of a fork is another run. Thread-safe. Throws
// std::bad_alloc.
RunIdentity this_run();

// The first two states are of a running warmup; the others are final.
enum class ProgressState { compiling, executing, done, failed, interrupted };

bool is_final(ProgressState state);

// "compiling", ...
std::string state_name(ProgressState state);

// The file's text: one JSON object on a line. `heartbeat` is the time of day in seconds since 1970. Pure. Throws only
// std::bad_alloc: no tree of JSON values is built, since destroying one allocates.
std::string progress_object(const ProgressCounts& counts, ProgressState state, const std::string& message,
                            const RunIdentity& run, double heartbeat);

// Whether the file must be written again `since_last` seconds after the last time: at most four times a second if
// something has changed, and often enough that the heartbeat is at most a second old. Pure.
bool progress_due(double since_last, bool changed);

// What a progress file says about the run that wrote it.
struct ProgressMark {
  RunIdentity run;  // an earlier build wrote only `process`
  bool is_final = false;
  double heartbeat = 0;
};

// Reads an existing file; nullopt if there is none, it is empty, or it is not a regular file, which replace_file()
// refuses anyway. A progress file is recognized by its beginning. invalid_argument if the file holds anything else, so
// that it must not be replaced.
Expected<std::optional<ProgressMark>> read_progress(const std::filesystem::path& path);

// Whether another run than `own` updates the file at the time `now`, in seconds since 1970: its state is not final and
// its heartbeat is younger than 10 seconds. If its process id is valid in this namespace, a missing process also means
// that it has ended.
bool kept_by_another(const ProgressMark& mark, const RunIdentity& own, double now);

// Why the run `own` must not write the file now.
struct ProgressObstacle {
  std::string message;
  std::optional<ProgressMark> keeper;  // the run that updates the file; none: it is not a progress file
};

// The result of read_progress() and kept_by_another(); nullopt if the file may be written.
std::optional<ProgressObstacle> progress_obstacle(const std::filesystem::path& path, const RunIdentity& own,
                                                  double now);

// Removes the file if it is a regular file, even without a free descriptor. Errors are ignored.
void remove_progress(util::SystemCalls& calls, const std::filesystem::path& path) noexcept;

}  // namespace cubinet::tools
