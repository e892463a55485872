#include "python/src/warmup_thread.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace cubinet::python {
namespace {

// The warmups of the process.
struct Warmups {
  std::mutex mutex;
  std::condition_variable news;
  int running = 0;
  std::atomic<bool> closed{false};
};
Warmups* warmups = new Warmups;  // never deleted: threads may outlive the interpreter

// Counts a running warmup for its lifetime.
class RunningWarmup {
 public:
  RunningWarmup() : all_(*warmups) {
    const std::lock_guard lock(all_.mutex);
    ++all_.running;
  }
  RunningWarmup(const RunningWarmup&) = delete;
  RunningWarmup& operator=(const RunningWarmup&) = delete;
  ~RunningWarmup() {
    const std::lock_guard lock(all_.mutex);
    --all_.running;
    all_.news.notify_all();
  }

  [[nodiscard]] bool closed() const { return all_.closed; }

 private:
  Warmups& all_;
};

// Shared by the threads of the warmup and the calling thread.
struct Shared {
  std::mutex mutex;
  std::condition_variable news;
  std::vector<Step> steps;
  bool finished = false;
  std::atomic<bool> stop{false};
};

int note_step(void* user, const char* phase, std::int64_t done, std::int64_t total) {
  auto& shared = *static_cast<Shared*>(user);
  {
    const std::lock_guard lock(shared.mutex);
    shared.steps.push_back({phase, done, total});
  }
  shared.news.notify_one();
  return shared.stop ? 1 : 0;
}

WarmupResult warm(const cubinet_options& options, const cubinet_request& request,
                  const cubinet_warmup_options& warmup) {
  WarmupResult result;
  char* json = nullptr;
  result.status = cubinet_warmup(&options, &request, &warmup, &json);
  if (result.status != CUBINET_OK) {
    result.error = cubinet_last_error();
    result.detail = cubinet_last_error_detail();
  }
  if (json != nullptr) result.json = json;
  cubinet_free(json);
  return result;
}

}  // namespace

WarmupResult run_warmup(const cubinet_options& options, const cubinet_request& request, cubinet_warmup_options warmup,
                        const std::function<bool(const Step&)>& on_step, const std::function<bool()>& is_over) {
  const RunningWarmup running;
  if (running.closed()) return {CUBINET_INCOMPLETE, {}, "the interpreter ends", {}};
  Shared shared;
  WarmupResult result;
  warmup.progress = note_step;
  warmup.user = &shared;
  std::thread worker([&] {
    result = warm(options, request, warmup);
    const std::lock_guard lock(shared.mutex);
    shared.finished = true;
    shared.news.notify_one();
  });
  for (bool finished = false; !finished;) {
    std::vector<Step> steps;
    {
      std::unique_lock lock(shared.mutex);
      shared.news.wait_for(lock, std::chrono::milliseconds(50),
                           [&] { return shared.finished || !shared.steps.empty(); });
      steps.swap(shared.steps);
      finished = shared.finished;
    }
    for (const Step& step : steps) {
      if (!shared.stop && on_step(step)) shared.stop = true;
    }
    if (running.closed() || is_over()) shared.stop = true;
  }
  worker.join();
  return result;
}

void end_warmups() {
  constexpr std::chrono::seconds longest(30);
  std::unique_lock lock(warmups->mutex);
  warmups->closed = true;
  warmups->news.wait_for(lock, longest, [] { return warmups->running == 0; });
}

void forget_warmups() { warmups = new Warmups; }

}  // namespace cubinet::python
