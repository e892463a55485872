// One run of warm() over a plan: the queue of its kernels and the bookkeeping of their results. Internal to runner.cpp.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "util/clock.hpp"
#include "warmup/campaign/runner.hpp"

namespace cubinet::warmup {

// A kernel that is to be looked up again or compiled.
struct KernelTask {
  std::size_t index = 0;                                    // in the plan
  bool deferred = false;                                    // another process was compiling it at its first attempt
  std::optional<util::Moment> waited_since = std::nullopt;  // when this kernel began to be the only work left
};

// First every task once, in order, then those that were put back. Thread-safe.
class KernelQueue {
 public:
  explicit KernelQueue(std::deque<KernelTask> tasks) : tasks_(std::move(tasks)) {}

  // None if the queue is empty. Other threads may still hold tasks, and put them back for themselves.
  std::optional<KernelTask> take();
  void put_back(const KernelTask& task);

 private:
  std::mutex mutex_;
  std::deque<KernelTask> tasks_;
};

// Threads provide the kernels of the plan; one lock guards the recording of results and the reports of progress. No
// exception leaves it, because it would end the process in a compile thread. A kernel whose result could not be
// recorded counts as remaining. Arguments are borrowed; `cabinet` and `stop` may be null.
class WarmRun {
 public:
  WarmRun(const Plan& plan, jit::Compiler& compiler, cache::Cabinet* cabinet, const Progress& progress,
          const std::atomic<bool>* stop, const Sharing& sharing);

  // Records a hit if the cabinet holds the kernel. False if the kernel must be provided. Thread-safe.
  bool look_up(std::size_t index) noexcept;

  // Provides kernels until the queue is empty or the run is stopped. Thread-safe.
  void work(KernelQueue& queue) noexcept;

  // Records the hits so far in the cabinet. Called before kernels are compiled, so that an eviction that they cause
  // does not treat kernels of this run as unused; and at the end.
  void record_hits();

  // The report. Call it once, after all threads have returned from work().
  Report finish();

 private:
  // Between two attempts at kernels that other processes are compiling.
  static constexpr std::chrono::milliseconds pause{10};

  [[nodiscard]] cache::Key key_of(std::size_t index) const;
  [[nodiscard]] bool stopped() const;
  // False if another process is compiling the kernel, so that it must be tried again.
  bool attempt(KernelTask& task);
  // Records the result of a kernel. `missed`: the cabinet did not hold it when the run began.
  void settle(std::size_t index, Expected<jit::Provided> provided, bool missed = false);
  Outcome record(std::size_t index, Expected<jit::Provided> provided);
  void show(std::size_t index, Outcome outcome) noexcept;
  void report_wait(std::int64_t holder) noexcept;
  [[nodiscard]] cache::Persistence persistence() const;

  const Plan& plan_;
  jit::Compiler& compiler_;
  cache::Cabinet* cabinet_;
  const Progress& progress_;
  const std::atomic<bool>* stop_;
  const Sharing& sharing_;
  jit::Standard standard_ = jit::Standard::usable;
  std::atomic<bool> no_room_{false};

  std::mutex mutex_;  // guards all members below
  Report report_;
  std::vector<std::pair<std::size_t, Failure>> failures_;
  std::vector<cache::Key> hit_keys_;
  std::vector<char> settled_;  // by index in the plan: 1 if the result is recorded
  std::int64_t done_ = 0;      // number of recorded results
};

}  // namespace cubinet::warmup
