#include "tools/progress_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/output.hpp"
#include "util/files.hpp"

namespace cubinet::tools {
namespace {

namespace fs = std::filesystem;

Json number_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Expected<void> check_target(const fs::path& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("{} is there and is not a regular file; it is left alone", path.native()));
}

// Makes the file `staged`, which errors speak of by the name that it is going to have.
Expected<void> write_new(util::SystemCalls& calls, const fs::path& staged, const std::string& text,
                         const fs::path& name) {
  util::File file(calls.open(staged.native(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644), calls);
  if (!file) return fail(ErrorCode::io, util::system_message("create", name, errno));
  auto written = util::write_all(calls, file.get(), text, name);
  if (file.close() != 0 && written) written = fail(ErrorCode::io, util::system_message("close", name, errno));
  if (!written) calls.unlink(staged.native());
  return written;
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
  const Json object{{"pid", process},
                    {"state", state_name(state)},
                    {"done", counts.done},
                    {"total", counts.total},
                    {"compiled", counts.compiled},
                    {"hits", counts.hits},
                    {"failed", counts.failed},
                    {"seconds", counts.seconds},
                    {"rate", number_or_null(rate(counts))},
                    {"eta_seconds", number_or_null(seconds_left(counts))},
                    {"heartbeat", heartbeat},
                    {"current", counts.current},
                    {"current_seconds", counts.current_seconds},
                    {"message", message}};
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

bool progress_due(double since_last, bool changed) {
  constexpr double soonest = 0.25;
  constexpr double latest = 0.75;  // leaves time for the writing
  return since_last >= (changed ? soonest : latest);
}

Expected<void> replace_progress(util::SystemCalls& calls, const fs::path& path, const std::string& text) {
  if (auto fit = check_target(path); !fit) return fit;
  const fs::path staged = path.parent_path() / util::unique_name(".cubinet-progress.");
  if (auto written = write_new(calls, staged, text, path); !written) return written;
  if (calls.rename(staged.native(), path.native()) == 0) return {};
  const int error = errno;
  calls.unlink(staged.native());
  return fail(ErrorCode::io, util::system_message("replace", path, error));
}

}  // namespace cubinet::tools
