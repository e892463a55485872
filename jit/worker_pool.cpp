#include "jit/worker_pool.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "jit/jobs.hpp"
#include "jit/nvrtc_log.hpp"

namespace cubinet::jit {
namespace {

void append_line(std::string& log, const std::string& output) {
  if (output.empty()) return;
  if (!log.empty() && log.back() != '\n') log += '\n';
  log += printable_log(output);
}

}  // namespace

struct WorkerPool::Worker {
  explicit Worker(std::unique_ptr<util::ChildProcess> started) : process(std::move(started)) {}

  // Sends a request about the NVRTC in `file` and returns the answer. The error says how the worker ended instead.
  Expected<WorkerAnswer> ask(const std::string& request, const std::string& file, const char* doing,
                             std::chrono::milliseconds patience) {
    std::string text;
    const auto received = process->ask(request, text, patience);
    auto answer = received == util::Received::message ? decode_answer(text) : std::nullopt;
    if (!answer) return fail(ended(received, file, doing, patience));
    const std::string output = process->take_output();
    if (auto* error = std::get_if<Error>(&answer->result)) append_line(error->detail, output);
    if (auto* code = std::get_if<NvrtcAnswer>(&answer->result)) append_line(code->log, output);
    return *std::move(answer);
  }

  std::unique_ptr<util::ChildProcess> process;
  WorkerMemory memory;

 private:
  Error ended(util::Received received, const std::string& file, const char* doing, std::chrono::milliseconds patience) {
    const util::ChildProcess::End end = process->end();
    Error error{ErrorCode::compile_failed, "NVRTC at " + file + " ", printable_log(process->take_output())};
    if (received == util::Received::late) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience).count();
      error.message += "did not answer for " + std::to_string(seconds) + " s while it " + doing + ", and was ended";
      return error;
    }
    error.message += std::string(doing) + " in a process that " + end_text(end);
    const bool no_memory = end.signal == SIGKILL || error.detail.find("out of memory") != std::string::npos;
    if (!no_memory) return error;
    error.code = ErrorCode::out_of_memory;
    error.message += ", as happens if memory runs out; " + memory_advice();
    return error;
  }
};

Expected<std::unique_ptr<WorkerPool>> WorkerPool::start(const std::string& program, const WorkerPatience& patience) {
  std::unique_ptr<WorkerPool> pool(new WorkerPool(program, patience));
  auto first = pool->start_worker();
  if (!first) return propagate(first);
  pool->add(*first);
  pool->release(std::move(*first));
  return pool;
}

WorkerPool::WorkerPool(std::string program, const WorkerPatience& patience)
    : program_(std::move(program)), patience_(patience), owner_(getpid()) {}
WorkerPool::~WorkerPool() = default;

Expected<WorkerPool::Held> WorkerPool::start_worker() const {
  auto process = util::ChildProcess::start(program_, {std::to_string(getpid())});
  if (!process) return propagate(process);
  std::string build;
  if ((*process)->receive(build, patience_.start) != util::Received::message) {
    const std::string end = util::end_text((*process)->end());
    return fail(ErrorCode::io, program_ + " " + end + " before its first message", (*process)->take_output());
  }
  if (build != worker_build) return fail(ErrorCode::io, program_ + " is of another build than this library");
  return std::make_unique<Worker>(*std::move(process));
}

Expected<NvrtcLocation> WorkerPool::open(const std::string& file) {
  auto worker = acquire();
  if (!worker) return propagate(worker);
  auto answer = (*worker)->ask(encode(OpenRequest{file}), file, "was opened", patience_.open);
  if (!answer) {
    discard(*std::move(worker));
    if (answer.error().code == ErrorCode::compile_failed) answer.error().code = ErrorCode::compiler_missing;
    return propagate(answer);
  }
  note_memory(**worker, answer->memory);
  auto* location = std::get_if<NvrtcLocation>(&answer->result);
  if (location == nullptr) {
    release(*std::move(worker));
    return fail(std::get<Error>(std::move(answer->result)));
  }
  file_ = location->path;
  version_ = location->version;
  release(*std::move(worker));
  return std::move(*location);
}

std::optional<Expected<NvrtcAnswer>> WorkerPool::run(const NvrtcInput& input, NvrtcOutput output) {
  auto worker = acquire();
  if (!worker && worker.error().code == ErrorCode::io) return std::nullopt;
  if (!worker) return propagate(worker);
  auto answer = (*worker)->ask(encode(input, output), file_, "compiled", patience_.compile);
  if (!answer) {
    discard(*std::move(worker));
    return propagate(answer);
  }
  note_memory(**worker, answer->memory);
  release(*std::move(worker));
  if (auto* code = std::get_if<NvrtcAnswer>(&answer->result)) return std::move(*code);
  return fail(std::get<Error>(std::move(answer->result)));
}

// If no further worker can be started, waits until another thread releases one.
Expected<WorkerPool::Held> WorkerPool::acquire() {
  for (;;) {
    if (Held worker = take_idle()) return worker;
    auto started = start_for_work();
    if (started) add(*started);
    if (started || started.error().code != ErrorCode::io) return started;
    std::unique_lock lock(mutex_);
    if (live_.empty()) return started;
    changed_.wait(lock, [this] { return live_.empty() || !idle_.empty(); });
  }
}

// Null if no worker is idle. Discards idle workers that have ended meanwhile.
WorkerPool::Held WorkerPool::take_idle() {
  for (;;) {
    Held worker;
    {
      const std::lock_guard lock(mutex_);
      forget_inherited();
      end_when_idle_ = false;
      if (idle_.empty()) return nullptr;
      worker = std::move(idle_.back());
      idle_.pop_back();
    }
    if (worker->process->is_alive()) return worker;
    discard(std::move(worker));
  }
}

// Starts a worker that opens the same NVRTC as the other workers.
Expected<WorkerPool::Held> WorkerPool::start_for_work() {
  auto worker = start_worker();
  if (!worker || file_.empty()) return worker;
  auto answer = (*worker)->ask(encode(OpenRequest{file_}), file_, "was opened", patience_.open);
  if (!answer) return propagate(answer);
  if (auto* error = std::get_if<Error>(&answer->result)) {
    if (error->code == ErrorCode::io) error->code = ErrorCode::compile_failed;
    return fail(std::move(*error));
  }
  const auto* location = std::get_if<NvrtcLocation>(&answer->result);
  if (location != nullptr && location->version == version_) return worker;
  return fail(ErrorCode::compile_failed, "NVRTC at " + file_ + " is no longer the " + version_ + " that was opened");
}

void WorkerPool::add(const Held& worker) {
  const std::lock_guard lock(mutex_);
  live_.push_back(worker.get());
}

void WorkerPool::release(Held worker) {
  {
    const std::lock_guard lock(mutex_);
    if (!end_when_idle_) idle_.push_back(std::move(worker));
  }
  if (worker) return discard(std::move(worker));
  changed_.notify_one();
}

void WorkerPool::discard(Held worker) {
  {
    const std::lock_guard lock(mutex_);
    std::erase(live_, worker.get());
  }
  worker.reset();
  changed_.notify_all();
}

void WorkerPool::end_idle() {
  std::vector<Held> ended;
  {
    const std::lock_guard lock(mutex_);
    end_when_idle_ = true;
    ended.swap(idle_);
  }
  for (Held& worker : ended) discard(std::move(worker));
}

// Precondition: mutex_ is held. In a child process made by fork, the workers belong to the parent.
void WorkerPool::forget_inherited() {
  if (owner_ == getpid()) return;
  owner_ = getpid();
  live_.clear();
  idle_.clear();
}

void WorkerPool::note_memory(Worker& worker, const WorkerMemory& memory) {
  const std::lock_guard lock(mutex_);
  worker.memory = memory;
  std::int64_t held = 0;
  std::int64_t shared = 0;
  for (const Worker* one : live_) {
    held += std::max<std::int64_t>(one->memory.peak - one->memory.shared, 0);
    shared = std::max(shared, one->memory.shared);
  }
  peak_bytes_ = std::max(peak_bytes_, held + shared);
}

std::int64_t WorkerPool::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_bytes_;
}

}  // namespace cubinet::jit
