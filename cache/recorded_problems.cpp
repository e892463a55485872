#include "cache/recorded_problems.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "util/clock.hpp"
#include "util/digest.hpp"
#include "util/file_lock.hpp"
#include "util/files.hpp"

namespace cubinet::cache {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::int64_t problem_version = 1;
constexpr std::int64_t renewal_seconds = util::seconds_per_day;
constexpr std::chrono::milliseconds lock_patience{1000};

fs::path path_of(const Layout& layout, const std::string& subject) {
  return layout.problems() / util::sha256_hex(subject);
}

bool is_problem_name(const std::string& name) {
  const bool lower = std::none_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'F'; });
  return lower && Key::from_hex(name).has_value();
}

// not_found: there is no such file; invalid_argument: it is damaged or not ours; io: it cannot be read.
Expected<RecordedProblem> read_problem(const Layout& layout, const std::string& name, bool own_files_only = false) {
  const fs::path path = layout.problems() / name;
  if (!is_problem_name(name)) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} is not named as a recorded problem", path.native()));
  }
  const auto text =
      own_files_only ? util::read_own_file(path, max_problem_bytes) : util::read_file(path, max_problem_bytes, false);
  if (!text) return propagate(text);
  auto problem = recorded_problem_from(*text);
  if (problem && util::sha256_hex(problem->subject) == name) return *std::move(problem);
  return fail(ErrorCode::invalid_argument, fmt::format("{} is damaged, or not a recorded problem", path.native()));
}

bool contains(const RecordedProblem& outer, const RecordedProblem& inner) {
  return outer.first <= inner.first && inner.last <= outer.last;
}

// A time more than a day ahead comes from a wrong clock, and is not recent.
bool is_recent(std::int64_t asked, std::int64_t now) { return std::abs(now - asked) < renewal_seconds; }

// Removes the records that were asked for longest ago, to make room for `coming` new ones.
void make_room(util::SystemCalls& calls, const Layout& layout, std::size_t coming) {
  const auto names = names_in(layout.problems());
  if (!names || names->size() + coming <= max_recorded_problems) return;
  auto present = read_problems(layout);
  if (!present) return;
  std::vector<RecordedProblem>& problems = present->problems;
  if (problems.size() + coming <= max_recorded_problems) return;
  std::sort(problems.begin(), problems.end(),
            [](const RecordedProblem& a, const RecordedProblem& b) { return a.asked < b.asked; });
  problems.resize(std::min(problems.size(), problems.size() + coming - max_recorded_problems));
  for (const RecordedProblem& problem : problems) calls.unlink(path_of(layout, problem.subject).native());
}

Expected<void> write_problem(util::SystemCalls& calls, const Layout& layout, const RecordedProblem& problem) {
  const std::string text = to_text(problem);
  if (text.size() > max_problem_bytes) {
    return fail(ErrorCode::invalid_argument, fmt::format("the subject of a problem has {} bytes, and its record takes "
                                                         "{} at most",
                                                         problem.subject.size(), max_problem_bytes));
  }
  const auto written =
      util::publish_file(calls, layout.tmp(), path_of(layout, problem.subject), {text}, util::Existing::replaced);
  if (!written) return propagate(written);
  return {};
}

}  // namespace

std::string to_text(const RecordedProblem& problem) {
  return fmt::format(R"({{"asked":{},"m":[{},{}],"subject":{},"version":{}}})", problem.asked, problem.first,
                     problem.last, problem.subject, problem_version);
}

std::optional<RecordedProblem> recorded_problem_from(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    RecordedProblem problem;
    problem.subject = json.at("subject").dump();
    const Json& m = json.at("m");
    // A number above 64 bits is read as a floating-point number, whose conversion would be undefined.
    for (const Json* number : {&m.at(0), &m.at(1), &json.at("asked")}) {
      if (!number->is_number_integer()) return std::nullopt;
    }
    m.at(0).get_to(problem.first);
    m.at(1).get_to(problem.last);
    json.at("asked").get_to(problem.asked);
    const bool sound =
        problem.first >= 1 && problem.first <= problem.last && problem.asked >= 0 && json.at("subject").is_object();
    if (!sound || to_text(problem) != text) return std::nullopt;
    return problem;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::vector<RecordedProblem> unrecorded(const Layout& layout, const std::vector<RecordedProblem>& asked,
                                        std::int64_t now) {
  std::vector<RecordedProblem> news;
  for (const RecordedProblem& one : asked) {
    const auto known = read_problem(layout, util::sha256_hex(one.subject));
    if (!known || !contains(*known, one) || !is_recent(known->asked, now)) news.push_back(one);
  }
  return news;
}

Expected<void> record_problems(util::SystemCalls& calls, const Layout& layout,
                               const std::vector<RecordedProblem>& asked, std::int64_t now) {
  const bool made = is_there(layout.problems());
  if (auto folder = util::make_folder(calls, layout.problems(), 0755); !folder) return folder;
  if (!made) {
    if (auto synced = util::sync_folder(calls, layout.root); !synced) return synced;
  }
  // Without the lock, two writers that widen one record at once would lose the range of one of them.
  const auto lock = util::FileLock::acquire(layout.recording(), lock_patience, calls);
  make_room(calls, layout, asked.size());
  for (const RecordedProblem& one : asked) {
    RecordedProblem problem = one;
    problem.asked = now;
    if (const auto known = read_problem(layout, util::sha256_hex(one.subject))) {
      problem.first = std::min(problem.first, known->first);
      problem.last = std::max(problem.last, known->last);
    }
    if (auto written = write_problem(calls, layout, problem); !written) return written;
  }
  return {};
}

Expected<RecordedProblems> read_problems(const Layout& layout, bool own_files_only) {
  auto names = names_in(layout.problems());
  if (!names) return propagate(names);
  std::sort(names->begin(), names->end());
  RecordedProblems read;
  for (const std::string& name : *names) {
    auto problem = read_problem(layout, name, own_files_only);
    if (problem) {
      read.problems.push_back(*std::move(problem));
    } else if (problem.error().code != ErrorCode::not_found) {  // else it was removed meanwhile
      const bool damaged = problem.error().code == ErrorCode::invalid_argument;
      read.skipped.push_back({name, std::move(problem.error().message), damaged});
    }
  }
  std::sort(read.problems.begin(), read.problems.end(),
            [](const RecordedProblem& a, const RecordedProblem& b) { return a.subject < b.subject; });
  return read;
}

Expected<bool> forget_problem(util::SystemCalls& calls, const Layout& layout, const std::string& subject) {
  const fs::path path = path_of(layout, subject);
  if (calls.unlink(path.native()) == 0) return true;
  if (errno == ENOENT) return false;
  return fail(ErrorCode::io, util::system_message("remove", path, errno));
}

}  // namespace cubinet::cache
