#include "warmup/runner.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "jit/provide.hpp"
#include "util/elapsed.hpp"
#include "util/parallel.hpp"

namespace cubinet::warmup {
namespace {

// One run over a plan. Threads provide its kernels and book what became of each under one lock, which also serialises
// the progress callback.
class Run {
 public:
  Run(const Plan& plan, jit::Compiler& compiler, cache::Cabinet* cabinet, const Progress& progress,
      const std::atomic<bool>* stop)
      : plan_(plan), compiler_(compiler), cabinet_(cabinet), progress_(progress), stop_(stop) {}

  // Does nothing once `*stop` is set. Thread-safe. Nothing that is thrown leaves it: a compile thread has nobody above
  // it to catch that. A kernel that could not be booked counts as remaining.
  void provide(std::size_t index) noexcept {
    if (stop_ != nullptr && stop_->load()) return;
    try {
      auto provided = jit::provide(plan_.kernels[index].spec, compiler_, cabinet_);
      const std::lock_guard lock(mutex_);
      const Outcome outcome = book(index, std::move(provided));
      ++done_;
      tell(index, outcome);
    } catch (...) {  // no memory
    }
  }

  Report finish() {
    std::sort(failures_.begin(), failures_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [index, failure] : failures_) report_.failed.push_back(std::move(failure));
    report_.remaining = static_cast<std::int64_t>(plan_.kernels.size()) - done_;
    if (cabinet_ != nullptr && !hit_keys_.empty()) cabinet_->record_hits(hit_keys_);
    report_.persist = persistence();
    return std::move(report_);
  }

 private:
  Outcome book(std::size_t index, Expected<jit::Provided> provided) {
    if (!provided) {
      const jit::KernelSpec& spec = plan_.kernels[index].spec;
      const std::string key = jit::key_of(jit::record_of(spec, compiler_.version())).hex();
      failures_.emplace_back(index, Failure{key, spec.family, std::move(provided).error()});
      return Outcome::failed;
    }
    if (!provided->compiled) {
      hit_keys_.push_back(provided->key);
      ++report_.hits;
      return Outcome::there;
    }
    ++report_.compiled;
    if (cabinet_ != nullptr && provided->store_problem.empty()) ++report_.stored;
    if (report_.persist_problem.empty()) report_.persist_problem = std::move(provided->store_problem);
    return Outcome::compiled;
  }

  void tell(std::size_t index, Outcome outcome) noexcept {
    if (!progress_) return;
    try {
      progress_({done_, static_cast<std::int64_t>(plan_.kernels.size()), plan_.kernels[index].spec, outcome});
    } catch (...) {  // the caller's own trouble with showing it
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

  std::mutex mutex_;  // guards everything below
  Report report_;
  std::vector<std::pair<std::size_t, Failure>> failures_;
  std::vector<cache::Key> hit_keys_;
  std::int64_t done_ = 0;
};

// Families without constants are small programs, made in a fraction of the time of a GEMM.
std::int64_t compile_weight(const jit::KernelSpec& spec) {
  return jit::takes_constants(spec) ? jit::compile_weight(spec.config) : 0;
}

// The order in which to start the kernels: the longest compilations first, so that the threads end together.
std::vector<std::size_t> longest_first(const Plan& plan) {
  std::vector<std::size_t> order(plan.kernels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&plan](std::size_t a, std::size_t b) {
    return compile_weight(plan.kernels[a].spec) > compile_weight(plan.kernels[b].spec);
  });
  return order;
}

}  // namespace

Report warm(const Plan& plan, jit::Compiler& compiler, cache::Cabinet* cabinet, int jobs, const Progress& progress,
            const std::atomic<bool>* stop) {
  const util::Moment begin = util::now();
  Run run(plan, compiler, cabinet, progress, stop);
  const std::vector<std::size_t> order = longest_first(plan);
  util::parallel_for(order.size(), jobs, [&](std::size_t i) { run.provide(order[i]); });
  Report report = run.finish();
  report.seconds = util::seconds_since(begin);
  return report;
}

std::int64_t count_missing(const Plan& plan, const std::string& nvrtc_version, const cache::Cabinet& cabinet) {
  return std::count_if(plan.kernels.begin(), plan.kernels.end(), [&](const PlannedKernel& kernel) {
    return !jit::find(kernel.spec, nvrtc_version, cabinet).has_value();
  });
}

}  // namespace cubinet::warmup
