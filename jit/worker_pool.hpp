// Compilation in compile workers. NVRTC can crash, change signal handlers, overflow a small stack, and leak memory. In
// a separate process it cannot harm the calling process. Both sides: the pool, and the main loop of a worker.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "jit/compile_messages.hpp"
#include "util/child_process.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// How long a worker may take before it counts as hung and is ended. Loading the 105 MB of NVRTC from a network disk, or
// compiling on a machine that swaps, takes only part of these times.
struct WorkerPatience {
  std::chrono::milliseconds start = std::chrono::seconds(30);
  std::chrono::milliseconds open = std::chrono::seconds(120);
  std::chrono::milliseconds compile = std::chrono::seconds(600);
};

// A pool with as many workers as there are concurrent compilations. Each worker is a process that runs `program`
// (tools/compile_worker.cpp) and compiles one kernel at a time. Workers end with the pool, with end_idle(), and when
// this process dies. Thread-safe. A child process made by fork has no workers at first and starts its own.
class WorkerPool {
 public:
  // Starts the first worker. The error says why that is impossible: there is no such program, the program is of another
  // build, or the system cannot start a process.
  static Expected<std::unique_ptr<WorkerPool>> start(const std::string& program, const WorkerPatience& patience = {});
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Opens NVRTC in a worker, see NvrtcLibrary::load. If NVRTC crashes the worker, the error is compiler_missing. All
  // workers use the library that was opened last. Call it before the first run(), from one thread.
  Expected<NvrtcLocation> open(const std::string& file);

  // Compiles, see run_nvrtc. The log includes what NVRTC wrote to standard error of the worker. If NVRTC crashes the
  // worker or does not answer, the error is compile_failed or out_of_memory, with the path of the library and the
  // signal. Returns nullopt if no worker can be started.
  std::optional<Expected<NvrtcAnswer>> run(const NvrtcInput& input, NvrtcOutput output);

  // Ends idle workers. Until the next run(), workers that become idle are ended, too.
  void end_idle();

  // The peak memory of all workers together, in bytes. Memory that they share is counted once.
  [[nodiscard]] std::int64_t peak_bytes() const;

 private:
  struct Worker;
  using Held = std::unique_ptr<Worker>;

  WorkerPool(std::string program, const WorkerPatience& patience);
  [[nodiscard]] Expected<Held> start_worker() const;
  Expected<Held> start_for_work();
  Expected<Held> acquire();
  Held take_idle();
  void add(const Held& worker);
  void release(Held worker);
  void discard(Held worker);
  void forget_inherited();
  void note_memory(Worker& worker, const WorkerMemory& memory);

  const std::string program_;
  const WorkerPatience patience_;
  std::string file_;          // path of the NVRTC that was opened
  std::string version_;       // version of that NVRTC
  mutable std::mutex mutex_;  // guards the members below; never held while waiting for a worker
  std::condition_variable changed_;
  std::vector<Held> idle_;
  std::vector<const Worker*> live_;  // idle and busy workers
  bool end_when_idle_ = false;
  int owner_ = 0;  // ID of the process that started these workers
  std::int64_t peak_bytes_ = 0;
};

// The main loop of a worker. Answers the requests (compile_messages.hpp) that arrive through `socket`, one after the
// other, until the other side closes it. A crash or a leak of NVRTC affects the calling process.
void serve_compilations(int socket);

}  // namespace cubinet::jit
