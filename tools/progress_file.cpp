#include "tools/progress_file.hpp"

#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <fstream>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "util/digest.hpp"
#include "util/files.hpp"
#include "util/json_text.hpp"

namespace cubinet::tools {
namespace {

// 128 random bits; without a random source, a digest of time and process id, which distinguishes runs well enough.
std::string random_digits() {
  std::array<std::uint8_t, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), GRND_NONBLOCK) != static_cast<ssize_t>(bytes.size())) {
    const auto moment = std::chrono::system_clock::now().time_since_epoch().count();
    return util::sha256_hex(std::to_string(moment) + " " + std::to_string(getpid())).substr(0, 2 * bytes.size());
  }
  return util::to_hex(bytes);
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// Two containers of one machine have the same boot id, and two machines may have the same namespace number; so both are
// used.
std::string pid_namespace() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 64> link{};  // as "pid:[4026531836]"
  const ssize_t length = readlink("/proc/self/ns/pid", link.data(), link.size());
  if (boot.empty() || length <= 0) return {};
  return boot + " " + std::string(link.data(), static_cast<std::size_t>(length));
}

namespace fs = std::filesystem;

std::string number_text(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }
std::string number_text(const std::optional<double>& value) { return value ? number_text(*value) : "null"; }

// Whether the path exists and is not a regular file.
bool is_taken(const fs::path& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

// The number after `name`.
template <class Number>
std::optional<Number> number_behind(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  Number number{};
  const auto parsed = std::from_chars(text.data() + at + name.size(), text.data() + text.size(), number);
  return parsed.ec == std::errc() ? std::optional(number) : std::nullopt;
}

// The string after `name`; empty if there is none, or if it contains an escape.
std::string text_behind(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + name.size());
  const std::string_view value = rest.substr(0, rest.find('"'));
  return value.find('\\') == std::string_view::npos && value.size() < rest.size() ? std::string(value) : std::string();
}

// Parses the beginning of a text of progress_object(). All fields that are needed precede the first field with free
// text.
std::optional<ProgressMark> parse_mark(std::string_view text) {
  constexpr std::string_view first = "{\"pid\":";
  const auto process = text.starts_with(first) ? number_behind<std::int64_t>(text, first) : std::nullopt;
  const auto heartbeat = number_behind<double>(text, "\"heartbeat\":");
  if (!process || !heartbeat) return std::nullopt;
  const auto is = [text](ProgressState state) {
    return text.find(fmt::format("\"state\":\"{}\"", state_name(state))) != std::string_view::npos;
  };
  RunIdentity run{*process, text_behind(text, R"("run":")"), text_behind(text, R"("host":")"),
                  text_behind(text, R"("pid_namespace":")")};
  return ProgressMark{std::move(run), !is(ProgressState::compiling) && !is(ProgressState::executing), *heartbeat};
}

bool is_alive(std::int64_t process) { return kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM; }

}  // namespace

RunIdentity this_run() {
  static std::mutex mutex;
  static RunIdentity identity;
  const std::lock_guard lock(mutex);
  if (identity.process != getpid()) identity = {getpid(), random_digits(), host_name(), pid_namespace()};
  return identity;
}

bool is_final(ProgressState state) { return state != ProgressState::compiling && state != ProgressState::executing; }

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
                            const RunIdentity& run, double heartbeat) {
  const std::vector<util::JsonMember> members = {
      {"pid", std::to_string(run.process)},
      {"run", util::json_string(run.run)},
      {"host", util::json_string(run.host)},
      {"pid_namespace", util::json_string(run.pid_namespace)},
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

Expected<std::optional<ProgressMark>> read_progress(const fs::path& path) {
  constexpr std::size_t enough = 1024;
  if (is_taken(path)) return std::nullopt;
  const auto opened = util::open_file(path, false);
  if (!opened && opened.error().code == ErrorCode::not_found) return std::nullopt;
  if (!opened) return propagate(opened);
  const auto text = util::read_at(opened->file, 0, enough, path);
  if (!text) return propagate(text);
  if (text->empty()) return std::nullopt;
  if (auto mark = parse_mark(*text)) return mark;
  return fail(ErrorCode::invalid_argument,
              fmt::format("{} exists and is not a progress file of a warmup; it is left unchanged: name another file",
                          path.native()));
}

bool kept_by_another(const ProgressMark& mark, const RunIdentity& own, double now) {
  constexpr double old = 10;  // seconds, as for a watchdog
  if (mark.is_final || mark.run.process <= 0 || std::abs(now - mark.heartbeat) >= old) return false;
  if (mark.run.run == own.run) return false;
  const bool same_namespace = !own.pid_namespace.empty() && mark.run.pid_namespace == own.pid_namespace;
  if (!same_namespace) return true;  // its process id is not valid here
  return mark.run.process != own.process && is_alive(mark.run.process);
}

std::optional<ProgressObstacle> progress_obstacle(const fs::path& path, const RunIdentity& own, double now) {
  auto mark = read_progress(path);
  if (!mark && mark.error().code == ErrorCode::invalid_argument) return ProgressObstacle{mark.error().message, {}};
  if (!mark || !*mark || !kept_by_another(**mark, own, now)) return std::nullopt;
  const RunIdentity& keeper = (*mark)->run;
  const std::string where = keeper.host.empty() || keeper.host == own.host ? "" : " on " + keeper.host;
  return ProgressObstacle{fmt::format("{} is updated by process {}{}, which is running; use a file for each process",
                                      path.native(), keeper.process, where),
                          std::move(*mark)};
}

void remove_progress(util::SystemCalls& calls, const fs::path& path) noexcept {
  if (is_taken(path) || calls.unlink(path.native()) == 0) return;
  if (errno == EMFILE || errno == ENFILE) ::unlink(path.c_str());  // needs no descriptor for the folders of the path
}

}  // namespace cubinet::tools
