// Progress of a warmup while it runs: on standard error a bar on a terminal, else a line every few seconds, or nothing;
// and a file for other programs. progress_counts.hpp has the figures and their texts, progress_file.hpp the file's
// format.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "tools/output.hpp"
#include "tools/progress_counts.hpp"
#include "tools/progress_file.hpp"
#include "util/clock.hpp"
#include "util/system_calls.hpp"
#include "util/threads.hpp"

namespace cubinet::tools {

enum class ProgressStyle { none, lines, bar };

// A bar if standard error is a terminal that can redraw a line, else lines; none if `quiet`.
ProgressStyle progress_style(bool quiet);

// The clocks, the output and the system calls of a display; tests replace them. The references must outlive it.
struct ProgressEnvironment {
  std::function<util::Moment()> now = util::now;
  // Seconds since 1970.
  std::function<double()> time_of_day = [] {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  };
  std::function<void(std::string_view)> print = log;
  std::function<void(std::chrono::milliseconds)> pause = [](auto time) { std::this_thread::sleep_for(time); };
  util::SystemCalls& calls = util::system_calls();
  std::chrono::milliseconds period{100};  // between updates of screen and file; 0: no threads, tests call tick()
};

// How a kernel was finished. `skipped`: it was examined and left out.
enum class Finish { compiled, hit, failed, executed, skipped };

// Counts the kernels of a running warmup. Thread-safe; never waits for output.
class ProgressTracker {
 public:
  using Work = std::list<std::pair<std::string, util::Moment>>::iterator;

  explicit ProgressTracker(std::function<util::Moment()> now) : now_(std::move(now)), begin_(now_()) {}
  // Begins a phase of `total` kernels.
  void begin(Phase phase, std::int64_t total);
  void finish(Finish how);
  // The work that `what` names is in progress until stop().
  Work start(std::string what);
  void stop(Work work);
  // This process has nothing to do but to wait for process `holder` (0: unknown), until the next finish() or
  // end_waiting(). Returns whether it waits for that process for the first time.
  bool wait(std::int64_t holder);
  void end_waiting();
  [[nodiscard]] ProgressCounts counts() const;

 private:
  struct Waiting {
    std::int64_t holder = 0;
    util::Moment since;
  };

  // Precondition: mutex_ is held.
  void begin_idling();
  void end_idling();

  std::function<util::Moment()> now_;
  mutable std::mutex mutex_;  // guards everything below
  ProgressCounts counts_;
  util::Moment begin_;
  std::list<std::pair<std::string, util::Moment>> work_;  // in the order of start()
  std::optional<Waiting> waiting_;
  std::optional<util::Moment> idle_since_;  // while nothing is in work and wait() holds
  std::set<std::int64_t> waited_for_;
};

// Shows the progress of a phase on a terminal or as lines. Not thread-safe.
class ProgressScreen {
 public:
  ProgressScreen(ProgressStyle style, std::function<void(std::string_view)> print)
      : style_(style), print_(std::move(print)) {}
  void begin(const ProgressCounts& counts);
  // Redraws the bar if it has changed; prints a line if the next one is due, every five seconds.
  void tick(const ProgressCounts& counts);
  // Erases the bar, or prints the last line.
  void end(const ProgressCounts& counts);

 private:
  void draw(const ProgressCounts& counts);

  ProgressStyle style_;
  std::function<void(std::string_view)> print_;
  std::string drawn_;  // the text of the bar; empty: there is none
  double next_line_ = 0;
};

// Writes the file of --progress-file; does nothing if its name is empty. Thread-safe.
class ProgressFileWriter {
 public:
  // `environment` must outlive the object.
  ProgressFileWriter(std::filesystem::path path, const ProgressEnvironment& environment);
  [[nodiscard]] bool wanted() const { return !path_.empty(); }
  // Writes a heartbeat if it is due.
  void tick(const ProgressCounts& counts);
  // Returns false if the file could not be written. A file that progress_obstacle() refuses is not written, and the
  // result is true. If the state is final and another run updates the file, this waits up to 10 seconds for its next
  // heartbeat: without one that run has ended, and the file is written.
  bool write(const ProgressCounts& counts, ProgressState state, const std::string& message);
  // Removes the file, if it is this run's, because it states what is no longer true.
  void withdraw() noexcept;
  // The reason of the first failure to write; empty if there was none, and after the first call that returned it.
  std::string take_problem();

 private:
  bool write_locked(const ProgressCounts& counts, ProgressState state, const std::string& message);

  std::filesystem::path path_;       // as the user named it
  std::filesystem::path real_path_;  // resolved beforehand: withdraw() may have no memory
  const ProgressEnvironment& environment_;
  const RunIdentity run_;
  std::mutex mutex_;  // guards everything below
  util::Moment last_{};
  ProgressCounts written_;
  std::string problem_;
  bool problem_taken_ = false;
  std::optional<ProgressObstacle> obstacle_;  // of the latest attempt to write
};

// The progress of a warmup: begin() for each phase, finish() for each kernel, end() once. Screen and file have separate
// threads, so that a blocked terminal delays neither the file nor the work. Construct it after the SignalWatch. Output
// that cannot be printed, and updates that run out of memory, are skipped. A file that cannot be written costs one
// note; if the state has changed, the file with the former state is removed.
class ProgressDisplay {
 public:
  // Writes the file for the first time, replacing that of an earlier run.
  ProgressDisplay(ProgressStyle style, std::filesystem::path file, ProgressEnvironment environment = {});
  // Writes the state `failed` if end() was not called.
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  // Begins a phase, and ends the one before, if any.
  void begin(Phase phase, std::int64_t total);
  // Replaces a compiling phase that has nothing to do: all kernels count as hits, and nothing is shown on the screen.
  void found(std::int64_t total);
  // Erases the phase's bar, or prints its last line. The file keeps its state and its heartbeat.
  void end_phase();
  // Ends the display. `state` is done, failed or interrupted.
  void end(ProgressState state, const std::string& message = {});

  // Thread-safe.
  void finish(Finish how) { tracker_.finish(how); }
  // Thread-safe. See ProgressTracker::wait.
  bool wait(std::int64_t holder) { return tracker_.wait(holder); }
  // Names the work of a thread while the object lives.
  class InWork {
   public:
    InWork(ProgressDisplay& display, std::string what)
        : tracker_(display.tracker_), work_(tracker_.start(std::move(what))) {}
    ~InWork() { tracker_.stop(work_); }
    InWork(const InWork&) = delete;
    InWork& operator=(const InWork&) = delete;

   private:
    ProgressTracker& tracker_;
    ProgressTracker::Work work_;
  };

  // One update of screen and file, for tests without threads.
  void tick();

 private:
  void write(ProgressState state, const std::string& message = {}) noexcept;

  ProgressEnvironment environment_;
  ProgressStyle style_;
  ProgressTracker tracker_;
  ProgressScreen screen_;
  ProgressFileWriter writer_;
  bool in_phase_ = false;
  bool ended_ = false;
  std::optional<util::Ticker> screen_ticker_;  // during a phase
  std::optional<util::Ticker> file_ticker_;    // until the end
};

}  // namespace cubinet::tools
