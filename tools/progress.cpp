#include "tools/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "util/files.hpp"

namespace cubinet::tools {
namespace {

constexpr double seconds_per_line = 5;

// The current width of the terminal at standard error; 80 if it is unknown.
std::size_t columns() {
  struct winsize size {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

double seconds_between(util::Moment first, util::Moment second) {
  return std::chrono::duration<double>(second - first).count();
}

ProgressState state_of(Phase phase) {
  return phase == Phase::compiling ? ProgressState::compiling : ProgressState::executing;
}

// Updates the display; an exception, of a lack of memory above all, must not stop the work.
template <class Update>
void attempt(Update update) noexcept {
  try {
    update();
  } catch (...) {
  }
}

}  // namespace

ProgressStyle progress_style(bool quiet) {
  if (quiet) return ProgressStyle::none;
  const char* terminal = std::getenv("TERM");
  const bool moves = terminal == nullptr || std::string_view(terminal) != "dumb";  // its cursor
  return moves && isatty(STDERR_FILENO) == 1 ? ProgressStyle::bar : ProgressStyle::lines;
}

void ProgressTracker::begin(Phase phase, std::int64_t total) {
  const std::lock_guard lock(mutex_);
  counts_.phase = phase;
  counts_.total = total;
  counts_.done = 0;
  counts_.worked = 0;
  counts_.waited_seconds = 0;
  begin_ = now_();
}

void ProgressTracker::finish(Finish how) {
  const std::lock_guard lock(mutex_);
  ++counts_.done;
  counts_.compiled += how == Finish::compiled ? 1 : 0;
  counts_.hits += how == Finish::hit ? 1 : 0;
  counts_.failed += how == Finish::failed ? 1 : 0;
  counts_.worked += how == Finish::hit || how == Finish::skipped ? 0 : 1;
  waiting_.reset();
  end_idling();
}

ProgressTracker::Work ProgressTracker::start(std::string what) {
  const std::lock_guard lock(mutex_);
  end_idling();
  return work_.emplace(work_.end(), std::move(what), now_());
}

void ProgressTracker::stop(Work work) {
  const std::lock_guard lock(mutex_);
  work_.erase(work);
  begin_idling();
}

bool ProgressTracker::wait(std::int64_t holder) {
  const std::lock_guard lock(mutex_);
  if (!waiting_) waiting_ = Waiting{holder, now_()};
  if (waiting_->holder == 0) waiting_->holder = holder;  // it was unknown before
  begin_idling();
  return waited_for_.insert(holder).second;
}

void ProgressTracker::end_waiting() {
  const std::lock_guard lock(mutex_);
  waiting_.reset();
  end_idling();
}

void ProgressTracker::begin_idling() {
  if (waiting_ && work_.empty() && !idle_since_) idle_since_ = now_();
}

void ProgressTracker::end_idling() {
  if (idle_since_) counts_.waited_seconds += seconds_between(*idle_since_, now_());
  idle_since_.reset();
}

ProgressCounts ProgressTracker::counts() const {
  const std::lock_guard lock(mutex_);
  ProgressCounts counts = counts_;
  const util::Moment now = now_();
  counts.seconds = seconds_between(begin_, now);
  if (idle_since_) counts.waited_seconds += seconds_between(*idle_since_, now);
  if (!work_.empty()) {
    counts.current = work_.front().first;
    counts.current_seconds = seconds_between(work_.front().second, now);
  } else if (waiting_) {
    counts.current = waiting_text(waiting_->holder);
    counts.current_seconds = seconds_between(waiting_->since, now);
  }
  return counts;
}

void ProgressScreen::begin(const ProgressCounts& counts) {
  next_line_ = seconds_per_line;
  if (style_ == ProgressStyle::bar) draw(counts);
  if (style_ == ProgressStyle::lines) {
    print_(std::string(warmup::phase_name(counts.phase)) + ": " + std::to_string(counts.total) + " kernels\n");
  }
}

void ProgressScreen::tick(const ProgressCounts& counts) {
  if (style_ == ProgressStyle::bar) draw(counts);
  if (style_ != ProgressStyle::lines || counts.seconds < next_line_) return;
  print_(line_text(counts) + '\n');
  while (next_line_ <= counts.seconds) next_line_ += seconds_per_line;
}

void ProgressScreen::end(const ProgressCounts& counts) {
  if (!drawn_.empty()) print_("\r\033[K");
  drawn_.clear();
  if (style_ == ProgressStyle::lines) print_(last_line_text(counts) + '\n');
}

void ProgressScreen::draw(const ProgressCounts& counts) {
  std::string text = bar_text(counts, columns());
  if (text == drawn_) return;
  print_("\r\033[K" + text);
  drawn_ = std::move(text);
}

ProgressFileWriter::ProgressFileWriter(std::filesystem::path path, const ProgressEnvironment& environment)
    : path_(std::move(path)),
      real_path_(wanted() ? util::real_path(path_).value_or(path_) : path_),
      environment_(environment),
      run_(wanted() ? this_run() : RunIdentity{}) {}

void ProgressFileWriter::tick(const ProgressCounts& counts) {
  const std::lock_guard lock(mutex_);
  const bool changed = counts.done != written_.done || counts.current != written_.current;
  if (!progress_due(seconds_between(last_, environment_.now()), changed)) return;
  write_locked(counts, state_of(counts.phase), {});
}

bool ProgressFileWriter::write(const ProgressCounts& counts, ProgressState state, const std::string& message) {
  const std::lock_guard lock(mutex_);
  bool written = write_locked(counts, state, message);
  if (!is_final(state)) return written;
  // Only its heartbeat tells whether a run in another container still lives.
  const auto heartbeat = [this] { return obstacle_ && obstacle_->keeper ? obstacle_->keeper->heartbeat : 0; };
  for (const double first = heartbeat(); first != 0 && heartbeat() == first;) {
    environment_.pause(std::chrono::milliseconds(100));
    written = write_locked(counts, state, message);
  }
  return written;
}

void ProgressFileWriter::withdraw() noexcept {
  const std::lock_guard lock(mutex_);
  if (wanted() && !obstacle_) remove_progress(environment_.calls, real_path_);
}

bool ProgressFileWriter::write_locked(const ProgressCounts& counts, ProgressState state, const std::string& message) {
  if (!wanted()) return true;
  const double now = environment_.time_of_day();
  last_ = environment_.now();
  obstacle_ = progress_obstacle(path_, run_, now);
  if (obstacle_) {
    if (problem_.empty()) problem_ = obstacle_->message;
    return true;
  }
  written_ = counts;
  const std::string text = progress_object(counts, state, message, run_, now);
  const auto replaced = util::replace_file(environment_.calls, path_, {text}, util::Durability::none);
  if (!replaced && problem_.empty()) problem_ = replaced.error().message;
  return replaced.has_value();
}

std::string ProgressFileWriter::take_problem() {
  const std::lock_guard lock(mutex_);
  if (problem_.empty() || std::exchange(problem_taken_, true)) return {};
  return problem_;
}

ProgressDisplay::ProgressDisplay(ProgressStyle style, std::filesystem::path file, ProgressEnvironment environment)
    : environment_(std::move(environment)),
      style_(style),
      tracker_(environment_.now),
      screen_(style, environment_.print),
      writer_(std::move(file), environment_) {
  write(ProgressState::compiling);
  const auto period = environment_.period;
  if (period.count() == 0 || !writer_.wanted()) return;
  attempt([&] { file_ticker_.emplace(period, [this] { writer_.tick(tracker_.counts()); }); });
}

ProgressDisplay::~ProgressDisplay() {
  attempt([this] {
    if (!ended_) end(ProgressState::failed, "ended without a report");
  });
}

void ProgressDisplay::begin(Phase phase, std::int64_t total) {
  end_phase();
  tracker_.begin(phase, total);
  in_phase_ = true;
  write(state_of(phase));
  attempt([&] {
    screen_.begin(tracker_.counts());
    const auto period = environment_.period;
    if (period.count() == 0 || style_ == ProgressStyle::none) return;
    screen_ticker_.emplace(period, [this] { screen_.tick(tracker_.counts()); });
  });
}

void ProgressDisplay::found(std::int64_t total) {
  end_phase();
  tracker_.begin(Phase::compiling, total);
  for (std::int64_t i = 0; i < total; ++i) tracker_.finish(Finish::hit);
}

void ProgressDisplay::end_phase() {
  screen_ticker_.reset();
  tracker_.end_waiting();
  if (std::exchange(in_phase_, false)) attempt([this] { screen_.end(tracker_.counts()); });
}

void ProgressDisplay::end(ProgressState state, const std::string& message) {
  end_phase();
  file_ticker_.reset();
  ended_ = true;
  write(state, message);
}

void ProgressDisplay::tick() {
  writer_.tick(tracker_.counts());
  screen_.tick(tracker_.counts());
}

void ProgressDisplay::write(ProgressState state, const std::string& message) noexcept {
  bool written = false;
  attempt([&] { written = writer_.write(tracker_.counts(), state, message); });
  if (!written) writer_.withdraw();
  attempt([this] {
    const std::string problem = writer_.take_problem();
    if (!problem.empty()) note("the progress file could not be written: " + problem);
  });
}

}  // namespace cubinet::tools
