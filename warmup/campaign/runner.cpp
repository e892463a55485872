#include "warmup/campaign/runner.hpp"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "util/clock.hpp"
#include "util/threads.hpp"

namespace cubinet::warmup {
namespace {

// A kernel that is to be provided, by its place in the plan.
struct Task {
  std::size_t index = 0;
  bool deferred = false;                                    // somebody else was making it when it was its turn
  std::optional<util::Moment> waited_since = std::nullopt;  // since when there has been nothing else to do
};

// What is to be done: first every task once, in order, then those that were put back. Thread-safe.
class Tasks {
 public:
  explicit Tasks(std::deque<Task> tasks) : tasks_(std::move(tasks)) {}

  // Nothing: there is none left but those that other threads have in hand, and may put back for themselves.
  std::optional<Task> take() {
    const std::lock_guard lock(mutex_);
    if (tasks_.empty()) return std::nullopt;
    const Task task = tasks_.front();
    tasks_.pop_front();
    return task;
  }

  void put_back(const Task& task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(task);
  }

 private:
  std::mutex mutex_;
  std::deque<Task> tasks_;
};

// One run over a plan. Threads provide its kernels and book what became of each under one lock, which also serialises
// the callbacks. Nothing that is thrown leaves it: a compile thread has nobody above it to catch that. A kernel that
// could not be booked counts as remaining.
class Run {
 public:
  Run(const Plan& plan, jit::Compiler& compiler, cache::Cabinet* cabinet, const Progress& progress,
      const std::atomic<bool>* stop, const Sharing& sharing)
      : plan_(plan), compiler_(compiler), cabinet_(cabinet), progress_(progress), stop_(stop), sharing_(sharing) {
    const bool stores = cabinet != nullptr && cabinet->persistence() == cache::Persistence::on;
    if (stores) standard_ = jit::Standard::accepted;
  }

  // Books the kernel if the cabinet holds it. False: it is to be provided. Thread-safe.
  bool look_up(std::size_t index) noexcept {
    if (stopped()) return true;
    if (cabinet_ == nullptr) return false;
    try {
      auto found = jit::find(plan_.kernels[index].spec, *cabinet_);
      if (!found || !jit::meets(standard_, found->object.facts, compiler_)) return false;
      settle(index, std::move(*found));
      return true;
    } catch (...) {  // no memory; perhaps there is some when it is its turn
      return false;
    }
  }

  // Provides what there is to do, until there is nothing or `*stop` is set. Thread-safe.
  void work(Tasks& tasks) noexcept {
    while (!stopped()) {
      try {
        auto task = tasks.take();
        if (!task) return;
        if (attempt(*task)) continue;
        tasks.put_back(*task);
        if (task->waited_since) std::this_thread::sleep_for(pause);
      } catch (...) {  // no memory
      }
    }
  }

  // Tells the cabinet of those that were found. Before the others are made, so that what this run needs is no old use
  // to a collection which they bring about; and at the end.
  void record_hits() {
    if (cabinet_ != nullptr && !hit_keys_.empty()) cabinet_->record_hits(std::exchange(hit_keys_, {}));
  }

  Report finish() {
    std::sort(failures_.begin(), failures_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [index, failure] : failures_) report_.failed.push_back(std::move(failure));
    for (std::size_t index = 0; index < settled_.size(); ++index) {
      if (settled_[index] == 0) report_.remaining.push_back(key_of(index).hex());
    }
    record_hits();
    report_.no_room = no_room_.load();
    report_.persist = persistence();
    return std::move(report_);
  }

 private:
  // Between two looks at kernels that others are making.
  static constexpr std::chrono::milliseconds pause{10};

  [[nodiscard]] cache::Key key_of(std::size_t index) const { return jit::key_of(plan_.kernels[index].spec); }

  [[nodiscard]] bool stopped() const { return no_room_.load() || (stop_ != nullptr && stop_->load()); }

  // False: somebody else is making the kernel, and it is to be tried again.
  bool attempt(Task& task) {
    const jit::KernelSpec& spec = plan_.kernels[task.index].spec;
    // A task comes a second time when all the others have been begun: from then on it is waited for.
    if (task.deferred && !task.waited_since) task.waited_since = util::now();
    if (task.waited_since && util::now() - *task.waited_since >= sharing_.patience) {
      settle(task.index, jit::provide(spec, compiler_, cabinet_, std::chrono::milliseconds(0), standard_), true);
      return true;
    }
    auto tried = jit::try_to_provide(spec, compiler_, cabinet_, standard_);
    if (!tried) {
      settle(task.index, propagate(tried));
      return true;
    }
    if (tried->provided) {
      settle(task.index, std::move(*tried->provided), true);
      return true;
    }
    if (task.waited_since) tell_wait(tried->holder);
    task.deferred = true;
    return false;
  }

  // Books what became of a kernel. `missed`: it was not there when the run began.
  void settle(std::size_t index, Expected<jit::Provided> provided, bool missed = false) {
    const std::lock_guard lock(mutex_);
    if (missed && provided && !provided->compiled) ++report_.shared;
    const Outcome outcome = book(index, std::move(provided));
    settled_[index] = 1;
    ++done_;
    tell(index, outcome);
  }

  Outcome book(std::size_t index, Expected<jit::Provided> provided) {
    if (!provided) {
      const std::string& family = plan_.kernels[index].spec.family_name();
      failures_.emplace_back(index, Failure{key_of(index).hex(), family, std::move(provided).error()});
      return Outcome::failed;
    }
    ++report_.compilers[provided->object.facts.compiler];
    if (!provided->compiled) {
      hit_keys_.push_back(provided->key);
      report_.hit_keys.push_back(provided->key);
      ++report_.hits;
      return Outcome::there;
    }
    if (cabinet_ != nullptr && provided->store_problem.empty()) {
      report_.stored_keys.push_back(provided->key);
      ++report_.stored;
      if (provided->replaced) ++report_.replaced;
    }
    ++report_.compiled;
    // What ends the run says more than what a kernel met before.
    const bool ends = provided->no_room && !no_room_.exchange(true);
    if (ends || report_.persist_problem.empty()) report_.persist_problem = std::move(provided->store_problem);
    return Outcome::compiled;
  }

  void tell(std::size_t index, Outcome outcome) noexcept {
    if (!progress_) return;
    try {
      progress_({done_, static_cast<std::int64_t>(plan_.kernels.size()), plan_.kernels[index].spec, outcome});
    } catch (...) {  // the caller's own trouble with showing it
    }
  }

  // A thread of this process is nobody whom the caller does not know.
  void tell_wait(std::int64_t holder) noexcept {
    if (!sharing_.waits || holder == ::getpid()) return;
    try {
      // Outside the lock: who is told may take long over saying it, and no thread's booking waits for that.
      sharing_.waits(holder);
    } catch (...) {  // as above
    }
  }

  [[nodiscard]] cache::Persistence persistence() const {
    if (cabinet_ == nullptr) return cache::Persistence::off;
    const cache::Persistence persistence = cabinet_->persistence();
    const bool lost = persistence == cache::Persistence::on && !report_.persist_problem.empty();
    return lost ? cache::Persistence::off : persistence;
  }

  const Plan& plan_;
  jit::Compiler& compiler_;
  cache::Cabinet* cabinet_;
  const Progress& progress_;
  const std::atomic<bool>* stop_;
  const Sharing& sharing_;
  jit::Standard standard_ = jit::Standard::usable;
  std::atomic<bool> no_room_{false};

  std::mutex mutex_;  // guards everything below
  Report report_;
  std::vector<std::pair<std::size_t, Failure>> failures_;
  std::vector<cache::Key> hit_keys_;
  std::vector<char> settled_ = std::vector<char>(plan_.kernels.size());  // by place in the plan: 1 once booked
  std::int64_t done_ = 0;                                                // how many are
};

// The order in which to start the kernels: the longest compilations first, so that the threads end together.
std::vector<std::size_t> longest_first(const Plan& plan) {
  std::vector<std::size_t> order(plan.kernels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto weight = [&plan](std::size_t index) {
    const jit::KernelSpec& spec = plan.kernels[index].spec;
    return spec.family->compile_weight(spec);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weight(a) > weight(b); });
  return order;
}

// Looks for every kernel in the cabinet and answers what is left to do, in the same order.
std::deque<Task> look_up_all(Run& run, const std::vector<std::size_t>& order, int jobs) {
  std::vector<char> settled(order.size());
  util::parallel_for(order.size(), jobs, [&](std::size_t i) { settled[i] = run.look_up(order[i]) ? 1 : 0; });
  std::deque<Task> missing;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (settled[i] == 0) missing.push_back({order[i]});
  }
  return missing;
}

// Why entries that were there are not: the cabinet remembers what it evicted.
std::string why_gone(const std::vector<cache::Key>& gone, const cache::Cabinet& cabinet) {
  const auto evicted = cabinet.evicted();
  if (!evicted) return "whether they were evicted is not known, " + evicted.error().message;
  const auto was_evicted = [&](const cache::Key& key) {
    return std::binary_search(evicted->begin(), evicted->end(), key);
  };
  const auto count = static_cast<std::size_t>(std::count_if(gone.begin(), gone.end(), was_evicted));
  constexpr const char* limits =
      "evicted to keep within the limits, which are too small for it: see CUBINET_CACHE_MAX_SIZE and "
      "CUBINET_CACHE_MAX_ENTRIES";
  constexpr const char* others =
      "not evicted, but removed by somebody else, or not visible here yet (a network file system): run it again";
  if (count == gone.size()) return limits;
  return count == 0 ? others : fmt::format("{} {}; the others {}", count, limits, others);
}

}  // namespace

Report warm(const Plan& plan, jit::Compiler& compiler, cache::Cabinet* cabinet, int jobs, const Progress& progress,
            const std::atomic<bool>* stop, const Sharing& sharing) {
  const util::Moment begin = util::now();
  Run run(plan, compiler, cabinet, progress, stop, sharing);
  std::deque<Task> missing = look_up_all(run, longest_first(plan), jobs);
  const std::size_t count = missing.size();
  if (count > 0) run.record_hits();
  Tasks tasks(std::move(missing));
  const std::size_t workers = std::min(count, static_cast<std::size_t>(std::max(jobs, 1)));
  util::parallel_for(workers, jobs, [&](std::size_t) { run.work(tasks); });
  Report report = run.finish();
  if (cabinet != nullptr && report.compiled > 0) look_for_gone(report, *cabinet);
  report.seconds = util::seconds_since(begin);
  return report;
}

void look_for_gone(Report& report, const cache::Cabinet& cabinet) {
  std::vector<cache::Key> gone;
  const auto is_gone = [&](const cache::Key& key) {
    if (cabinet.holds(key)) return false;
    gone.push_back(key);
    return true;
  };
  std::erase_if(report.stored_keys, is_gone);
  std::erase_if(report.hit_keys, is_gone);
  if (gone.empty()) return;
  report.stored = static_cast<std::int64_t>(report.stored_keys.size());
  if (report.persist == cache::Persistence::on) report.persist = cache::Persistence::off;
  if (!report.persist_problem.empty()) return;
  report.persist_problem = fmt::format("{} of {} kernels of the plan are gone again from {}: {}", gone.size(),
                                       report.compiled + report.hits, cabinet.root().native(), why_gone(gone, cabinet));
}

Missing look_for_missing(const Plan& plan, const cache::Cabinet& cabinet) {
  Missing missing;
  for (const PlannedKernel& kernel : plan.kernels) {
    if (jit::find(kernel.spec, cabinet)) continue;
    ++missing.kernels;
    if (!missing.unreadable.empty()) continue;
    const auto there = cabinet.check(jit::key_of(kernel.spec));
    if (!there && there.error().code != ErrorCode::not_found) missing.unreadable = there.error().message;
  }
  return missing;
}

}  // namespace cubinet::warmup
