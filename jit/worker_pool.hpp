// Compilation in processes of their own, so that nothing that NVRTC does or fails at can end or change the process that
// asks: a crash, signal handlers, the size of a stack, memory that is not given back.
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

// How long a worker may take before it counts as one that hangs and is ended. Loading NVRTC's 105 MB from a network
// disk, or compiling on a machine that swaps, takes a part of that.
struct WorkerPatience {
  std::chrono::milliseconds start = std::chrono::seconds(30);
  std::chrono::milliseconds open = std::chrono::seconds(120);
  std::chrono::milliseconds compile = std::chrono::seconds(600);
};

// As many workers as there are compilations at once, each a process that runs `program` (tools/compile_worker.cpp) and
// compiles one kernel at a time. They end with the pool, with end_idle(), and when this process dies. Thread-safe. A
// child made by fork has none, and starts its own.
class WorkerPool {
 public:
  // Starts the first worker. The error says why there can be none: no such program, one of another build, or a system
  // that starts none.
  static Expected<std::unique_ptr<WorkerPool>> start(const std::string& program, const WorkerPatience& patience = {});
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Opens NVRTC in a worker: see NvrtcLibrary::load. An NVRTC that ends its process is compiler_missing. All workers
  // use the last one that was opened. Before the first run(), by one thread.
  Expected<NvrtcLocation> open(const std::string& file);

  // Compiles: see run_nvrtc. What NVRTC wrote to its process's standard error is in the log, too. An NVRTC that ends
  // its process, or does not answer, is compile_failed or out_of_memory, with the file and the signal. nullopt where no
  // worker can be started.
  std::optional<Expected<NvrtcAnswer>> run(const NvrtcInput& input, NvrtcOutput output);

  // Ends the workers that have nothing to do, and, until the next run(), those that become so.
  void end_idle();

  // The most memory that the workers held at once, with what they share counted once.
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
  std::string file_;          // of the NVRTC that was opened
  std::string version_;       // and its build
  mutable std::mutex mutex_;  // guards the rest; never held while a worker is waited for
  std::condition_variable changed_;
  std::vector<Held> idle_;
  std::vector<const Worker*> live_;  // idle or at work
  bool resting_ = false;
  int owner_ = 0;  // the process whose workers these are
  std::int64_t peak_bytes_ = 0;
};

}  // namespace cubinet::jit
