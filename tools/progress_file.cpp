#include "tools/progress_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cmath>
#include <string_view>
#include <system_error>
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

Expected<void> check_target(const fs::path& path) {
  if (!is_taken(path)) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("{} is there and is not a regular file; it is left alone", path.native()));
}

// Makes the file `staged`, which errors speak of by the name that it is going to have.
Expected<void> write_new(util::SystemCalls& calls, const fs::path& staged, const std::string& text,
                         const fs::path& name) {
  util::File file(calls.open(staged.native(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644), calls);
  if (!file) return util::fail_system("create", name, errno);
  auto written = util::write_all(calls, file.get(), text, name);
  if (file.close() != 0 && written) written = util::fail_system("close", name, errno);
  if (!written) calls.unlink(staged.native());
  return written;
}

// The path with every link in it followed, as far as there is something.
fs::path followed(const fs::path& path) {
  std::error_code trouble;
  const fs::path absolute = fs::absolute(path, trouble);
  fs::path canonical = fs::weakly_canonical(absolute, trouble);
  return trouble ? absolute.lexically_normal() : canonical;
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
  const std::pair<std::string_view, std::string> fields[] = {
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
  std::string text;
  for (const auto& [name, value] : fields) text += fmt::format("{}\"{}\":{}", text.empty() ? '{' : ',', name, value);
  return text + "}\n";
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
  return util::fail_system("replace", path, error);
}

void remove_progress(util::SystemCalls& calls, const fs::path& path) noexcept {
  if (!is_taken(path)) calls.unlink(path.native());
}

Expected<void> check_outside(const fs::path& path, const fs::path& root) {
  const fs::path way = followed(path).lexically_relative(followed(root));
  if (way.empty() || *way.begin() == "..") return {};
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("--progress-file: {} lies in the cabinet {}; name a file outside", path.native(), root.native()));
}

}  // namespace cubinet::tools
