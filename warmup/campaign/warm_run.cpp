#include "warmup/campaign/warm_run.hpp"

#include <unistd.h>

#include <algorithm>
#include <thread>

namespace cubinet::warmup {

std::optional<KernelTask> KernelQueue::take() {
  const std::lock_guard lock(mutex_);
  if (tasks_.empty()) return std::nullopt;
  const KernelTask task = tasks_.front();
  tasks_.pop_front();
  return task;
}

void KernelQueue::put_back(const KernelTask& task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(task);
}

WarmRun::WarmRun(const Plan& plan, jit::Compiler& compiler, cache::Cabinet* cabinet, const Progress& progress,
                 const std::atomic<bool>* stop, const Sharing& sharing)
    : plan_(plan),
      compiler_(compiler),
      cabinet_(cabinet),
      progress_(progress),
      stop_(stop),
      sharing_(sharing),
      settled_(plan.kernels.size()) {
  const bool stores = cabinet != nullptr && cabinet->persistence() == cache::Persistence::on;
  if (stores) standard_ = jit::Standard::accepted;
}

bool WarmRun::look_up(std::size_t index) noexcept {
  if (stopped()) return true;
  if (cabinet_ == nullptr) return false;
  try {
    auto found = jit::find(plan_.kernels[index].spec, *cabinet_);
    if (!found || !jit::meets(standard_, found->object.facts, compiler_)) return false;
    settle(index, std::move(*found));
    return true;
  } catch (...) {  // out of memory; the kernel is tried again in its turn
    return false;
  }
}

void WarmRun::work(KernelQueue& queue) noexcept {
  while (!stopped()) {
    try {
      auto task = queue.take();
      if (!task) return;
      if (attempt(*task)) continue;
      queue.put_back(*task);
      if (task->waited_since) std::this_thread::sleep_for(pause);
    } catch (...) {  // out of memory
    }
  }
}

void WarmRun::record_hits() {
  if (cabinet_ != nullptr && !hit_keys_.empty()) cabinet_->record_hits(std::exchange(hit_keys_, {}));
}

Report WarmRun::finish() {
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

cache::Key WarmRun::key_of(std::size_t index) const { return jit::key_of(plan_.kernels[index].spec); }

bool WarmRun::stopped() const { return no_room_.load() || (stop_ != nullptr && stop_->load()); }

bool WarmRun::attempt(KernelTask& task) {
  const jit::KernelSpec& spec = plan_.kernels[task.index].spec;
  // A task is taken a second time after all others have been started. From then on its kernel is waited for.
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
  if (task.waited_since) report_wait(tried->holder);
  task.deferred = true;
  return false;
}

void WarmRun::settle(std::size_t index, Expected<jit::Provided> provided, bool missed) {
  const std::lock_guard lock(mutex_);
  if (missed && provided && !provided->compiled) ++report_.shared;
  const Outcome outcome = record(index, std::move(provided));
  settled_[index] = 1;
  ++done_;
  show(index, outcome);
}

Outcome WarmRun::record(std::size_t index, Expected<jit::Provided> provided) {
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
  // The problem that ends the run replaces an earlier one.
  const bool ends = provided->no_room && !no_room_.exchange(true);
  if (ends || report_.persist_problem.empty()) report_.persist_problem = std::move(provided->store_problem);
  return Outcome::compiled;
}

void WarmRun::show(std::size_t index, Outcome outcome) noexcept {
  if (!progress_) return;
  try {
    progress_({done_, static_cast<std::int64_t>(plan_.kernels.size()), plan_.kernels[index].spec, outcome});
  } catch (...) {  // an exception of the caller's display does not end the run
  }
}

// Waits for threads of this process are not reported.
void WarmRun::report_wait(std::int64_t holder) noexcept {
  if (!sharing_.waits || holder == ::getpid()) return;
  try {
    // Without the lock, because the callback may be slow and other threads must be able to record results.
    sharing_.waits(holder);
  } catch (...) {  // as in show()
  }
}

cache::Persistence WarmRun::persistence() const {
  if (cabinet_ == nullptr) return cache::Persistence::off;
  const cache::Persistence persistence = cabinet_->persistence();
  const bool lost = persistence == cache::Persistence::on && !report_.persist_problem.empty();
  return lost ? cache::Persistence::off : persistence;
}

}  // namespace cubinet::warmup
