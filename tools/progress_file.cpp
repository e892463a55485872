#include "tools/progress_file.hpp"

#include <sys/stat.h>

#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "util/files.hpp"
#include "util/json_text.hpp"

namespace cubinet::tools {
namespace {

namespace fs = std::filesystem;

std::string number_text(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }
std::string number_text(const std::optional<double>& value) { return value ? number_text(*value) : "null"; }

bool is_final(ProgressState state) { return state != ProgressState::compiling && state != ProgressState::executing; }

// Whether there is something that is no regular file.
bool is_taken(const fs::path& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

}  // namespace

std::string state_name(ProgressState state) {
  switch (state) {
    case ProgressState::compiling:
      return "compiling";
    case ProgressState::executing:
      return "executing";
    case ProgressState::done:
      return "done";
    case ProgressState::failed:
      return "failed";
    case ProgressState::interrupted:
      return "interrupted";
  }
  return "failed";
}

std::string progress_object(const ProgressCounts& counts, ProgressState state, const std::string& message,
                            std::int64_t process, double heartbeat) {
  const std::vector<util::JsonMember> members = {
      {"pid", std::to_string(process)},
      {"state", util::json_string(state_name(state))},
      {"done", std::to_string(counts.done)},
      {"total", std::to_string(counts.total)},
      {"compiled", std::to_string(counts.compiled)},
      {"hits", std::to_string(counts.hits)},
      {"failed", std::to_string(counts.failed)},
      {"seconds", number_text(counts.seconds)},
      {"rate", number_text(rate(counts))},
      {"eta_seconds", is_final(state) ? "null" : number_text(seconds_left(counts))},
      {"heartbeat", number_text(heartbeat)},
      {"current", util::json_string(counts.current)},
      {"current_seconds", number_text(counts.current_seconds)},
      {"message", util::json_string(message)}};
  return util::json_object(members) + '\n';
}

bool progress_due(double since_last, bool changed) {
  constexpr double soonest = 0.25;
  constexpr double latest = 0.75;  // leaves time for the writing
  return since_last >= (changed ? soonest : latest);
}

Expected<void> replace_progress(util::SystemCalls& calls, const fs::path& path, const std::string& text) {
  return util::replace_file(calls, path, {text}, util::Durability::none);
}

void remove_progress(util::SystemCalls& calls, const fs::path& path) noexcept {
  if (!is_taken(path)) calls.unlink(path.native());
}

}  // namespace cubinet::tools
