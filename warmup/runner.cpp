#include "warmup/runner.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>

#include "jit/provide.hpp"

namespace cubinet::warmup {
namespace {

Expected<jit::Provided> provide_or_error(const jit::KernelSpec& spec, jit::Compiler& compiler,
                                         cache::Cabinet* cabinet) {
  try {
    return jit::provide(spec, compiler, cabinet);
  } catch (const std::exception& exception) {  // above all out of memory: the other kernels still go on
    return fail(ErrorCode::compile_failed, exception.what());
  }
}

// One run over a plan. The workers draw kernels from a shared counter and book what became of each under one lock,
// which also serialises the progress callback.
class Run {
 public:
  Run(const Plan& plan, jit::Compiler& compiler, cache::Cabinet* cabinet, const Progress& progress,
      const std::atomic<bool>* stop)
      : plan_(plan), compiler_(compiler), cabinet_(cabinet), progress_(progress), stop_(stop) {}

  void work() {
    while (stop_ == nullptr || !stop_->load()) {
      const std::size_t index = next_.fetch_add(1);
      if (index >= plan_.kernels.size()) return;
      const jit::KernelSpec& spec = plan_.kernels[index].spec;
      book(index, provide_or_error(spec, compiler_, cabinet_));
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
  void book(std::size_t index, Expected<jit::Provided> outcome) {
    const jit::KernelSpec& spec = plan_.kernels[index].spec;
    const std::lock_guard lock(mutex_);
    if (!outcome) {
      const std::string key = jit::key_of(jit::record_of(spec, compiler_.version())).hex();
      failures_.emplace_back(index, Failure{key, spec.family, std::move(outcome).error()});
    } else if (outcome->compiled) {
      ++report_.compiled;
      if (report_.persist_problem.empty()) report_.persist_problem = outcome->store_problem;
    } else {
      ++report_.hits;
      hit_keys_.push_back(outcome->key);
    }
    ++done_;
    if (progress_) progress_(done_, static_cast<std::int64_t>(plan_.kernels.size()), spec);
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
  std::atomic<std::size_t> next_{0};

  std::mutex mutex_;  // guards everything below
  Report report_;
  std::vector<std::pair<std::size_t, Failure>> failures_;
  std::vector<cache::Key> hit_keys_;
  std::int64_t done_ = 0;
};

}  // namespace

Report warm(const Plan& plan, jit::Compiler& compiler, cache::Cabinet* cabinet, int jobs, const Progress& progress,
            const std::atomic<bool>* stop) {
  const auto begin = std::chrono::steady_clock::now();
  Run run(plan, compiler, cabinet, progress, stop);
  {
    const std::size_t wanted = std::min(static_cast<std::size_t>(std::max(jobs, 1)), plan.kernels.size());
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < wanted; ++i) threads.emplace_back([&run] { run.work(); });
    run.work();
  }
  Report report = run.finish();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

std::int64_t count_missing(const Plan& plan, const std::string& nvrtc_version, const cache::Cabinet& cabinet) {
  return std::count_if(plan.kernels.begin(), plan.kernels.end(), [&](const PlannedKernel& kernel) {
    return !jit::find(kernel.spec, nvrtc_version, cabinet).has_value();
  });
}

}  // namespace cubinet::warmup
