// Progress while it happens: on standard error a bar on a terminal, else a line every few seconds, nothing when quiet;
// and a file for other programs. progress_counts.hpp says what is told, progress_file.hpp how the file is written.
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
#include <utility>

#include "tools/progress_counts.hpp"
#include "tools/progress_file.hpp"
#include "util/clock.hpp"
#include "util/system_calls.hpp"
#include "util/threads.hpp"

namespace cubinet::tools {

enum class ProgressStyle { none, lines, bar };

// A bar if standard error is a terminal that can draw over a line, else lines; none when `quiet`.
ProgressStyle progress_style(bool quiet);

// What the display needs of the world outside; tests bring their own. The references must outlive it.
struct ProgressSurroundings {
  std::function<util::Moment()> now = util::now;
  std::function<double()> time_of_day;                   // seconds since 1970; empty: this machine's
  std::function<void(std::string_view)> print;           // standard error when empty
  std::function<void(std::chrono::milliseconds)> pause;  // sleeps when empty
  util::SystemCalls& calls = util::system_calls();
  std::chrono::milliseconds period{100};  // in which bar, lines and file are looked after; 0: no threads
};

// What became of a kernel.
// `skipped` was looked at and left.
enum class Finish { compiled, hit, failed, executed, skipped };

// The counts of a warmup that is under way. Thread-safe, and never waits for anything that is written.
class ProgressBook {
 public:
  using Work = std::list<std::pair<std::string, util::Moment>>::iterator;

  explicit ProgressBook(std::function<util::Moment()> now) : now_(std::move(now)), begin_(now_()) {}
  // A new phase with so many kernels: nothing of it is done yet.
  void begin(Phase phase, std::int64_t total);
  void finish(Finish how);
  Work start(std::string what);
  void stop(Work work);
  // Nothing is in work but what process `holder` compiles (0: not known), until the next finish() or end_waiting().
  // Whether it is waited for for the first time.
  bool wait(std::int64_t holder);
  void end_waiting();
  [[nodiscard]] ProgressCounts counts() const;

 private:
  struct Waiting {
    std::int64_t holder = 0;
    util::Moment since;
  };

  // Of the time in which there was nothing to do but to wait. Precondition: mutex_ is held.
  void begin_idling();
  void end_idling();

  std::function<util::Moment()> now_;
  mutable std::mutex mutex_;  // guards everything below
  ProgressCounts counts_;
  util::Moment begin_;
  std::list<std::pair<std::string, util::Moment>> work_;  // what began first stands first
  std::optional<Waiting> waiting_;
  std::optional<util::Moment> idle_since_;  // while nothing is in work and something is waited for
  std::set<std::int64_t> waited_for_;
};

// What a person sees. Not thread-safe: one thread at a time.
class ProgressScreen {
 public:
  ProgressScreen(ProgressStyle style, std::function<void(std::string_view)> print);
  void begin(const ProgressCounts& counts);
  // Draws the bar where it has changed; a line when the next is due, each five seconds.
  void tick(const ProgressCounts& counts);
  // Takes the bar off the screen, or prints the last line.
  void end(const ProgressCounts& counts);

 private:
  void draw(const ProgressCounts& counts);

  ProgressStyle style_;
  std::function<void(std::string_view)> print_;
  std::string drawn_;  // what the bar shows; empty: there is none
  double next_line_ = 0;
};

// The file that `--progress-file` names; nothing when its name is empty. Thread-safe.
class ProgressBeat {
 public:
  // The surroundings must be complete, and outlive it.
  ProgressBeat(std::filesystem::path path, const ProgressSurroundings& surroundings);
  [[nodiscard]] bool wanted() const { return !path_.empty(); }
  // Writes when it is due.
  void tick(const ProgressCounts& counts);
  // False: it could not be written. A file that progress_obstacle is against is left to others, for so long.
  bool write(const ProgressCounts& counts, ProgressState state, const std::string& message);
  // The same for the last word. Where another run keeps the file this waits for its next heartbeat, 10 seconds at most:
  // without one that run has ended, and the file is this one's.
  bool write_last(const ProgressCounts& counts, ProgressState state, const std::string& message);
  // Takes away the file, where what it says is not true any more.
  void withdraw() noexcept;
  // Why it could not be written the first time that it could not, once; then empty.
  std::string take_problem();

 private:
  bool write_locked(const ProgressCounts& counts, ProgressState state, const std::string& message);

  std::filesystem::path path_;       // as the user named it
  std::filesystem::path real_path_;  // found beforehand: a withdrawal may have no memory
  const ProgressSurroundings& surroundings_;
  const RunIdentity run_;
  std::mutex mutex_;  // guards everything below
  util::Moment last_{};
  ProgressCounts written_;
  std::string problem_;
  bool told_ = false;
  std::optional<ProgressObstacle> obstacle_;  // of the latest attempt to write
};

// All of it together: begin() each phase, finish() each kernel, end() once. Screen and file have a thread each, so that
// a terminal that takes no text holds up neither the file nor the work. Make it when signals are watched already. What
// cannot be printed is dropped, and what there is no memory to tell. A file that cannot be written costs one note;
// where it is a new state that cannot, the file that says the former one is removed.
class ProgressDisplay {
 public:
  // Writes the file for the first time, in the place of what an earlier run left there.
  ProgressDisplay(ProgressStyle style, std::filesystem::path file, ProgressSurroundings surroundings = {});
  // Without end() the file says that it failed.
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  // Ends the phase before, if there is one.
  void begin(Phase phase, std::int64_t total);
  // In the place of a phase of compiling in which nothing is to be done: all count as hits, and the screen stays empty.
  void found(std::int64_t total);
  // Takes the phase's bar off the screen, or prints its last line. The file goes on, with the state that it has.
  void end_phase();
  // The end of everything: state is done, failed or interrupted.
  void end(ProgressState state, const std::string& message = {});

  // Thread-safe. What is in work is named while the object lives.
  void finish(Finish how) { book_.finish(how); }
  // See ProgressBook::wait.
  bool wait(std::int64_t holder) { return book_.wait(holder); }
  class InWork {
   public:
    InWork(ProgressDisplay& display, std::string what) : book_(display.book_), work_(book_.start(std::move(what))) {}
    ~InWork() { book_.stop(work_); }
    InWork(const InWork&) = delete;
    InWork& operator=(const InWork&) = delete;

   private:
    ProgressBook& book_;
    ProgressBook::Work work_;
  };

  // What the threads do in each period, for tests that have none.
  void tick();

 private:
  void write(ProgressState state, const std::string& message = {}) noexcept;

  ProgressSurroundings surroundings_;
  ProgressStyle style_;
  ProgressBook book_;
  ProgressScreen screen_;
  ProgressBeat beat_;
  bool in_phase_ = false;
  bool ended_ = false;
  std::optional<util::Ticker> screen_ticker_;  // while a phase goes on
  std::optional<util::Ticker> beat_ticker_;    // until the end
};

}  // namespace cubinet::tools
