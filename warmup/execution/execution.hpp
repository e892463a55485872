// Executing a plan: every kernel is run on a device, within a budget of memory, and what it computes is checked.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/cabinet.hpp"
#include "jit/compiler.hpp"
#include "jit/driver.hpp"
#include "warmup/planning/plan.hpp"

namespace cubinet::warmup {

// Where cubins come from and where they run.
struct ExecutionParts {
  std::shared_ptr<const jit::DeviceContext> device;  // never null
  jit::Compiler& compiler;                           // makes what the cabinet lacks
  cache::Cabinet* cabinet = nullptr;                 // may be null
};

struct ExecutionOptions {
  // Bytes of device memory that may be in use beyond what is in use at the start; default_budget() where there is none.
  std::optional<std::int64_t> budget;
  std::uint64_t seed = 1;                      // of the operands: another one for every run
  std::chrono::milliseconds deadline{30'000};  // of a launch; a kernel that misses it hangs
};

// The budget where none is given: half of what is free on the device.
constexpr std::int64_t default_budget(std::int64_t free_bytes) { return free_bytes / 2; }

// A kernel that was not found right, and why.
struct KernelNote {
  std::string key;  // hexadecimal
  jit::KernelSpec spec;
  std::string reason;
};

struct ExecutionReport {
  std::int64_t executed = 0;             // kernels that ran and were right
  std::vector<KernelNote> failed;        // ran, or could not: a wrong result, a hang, an error of the driver
  std::vector<KernelNote> not_executed;  // did not run. Every kernel of the plan is in one of the three
  std::int64_t launches = 0;             // of kernels of the plan; those that fill and check are not counted
  std::int64_t peak_device_bytes = 0;    // most memory in use beyond that at the start, as the driver counts it
  std::int64_t budget = 0;
  double seconds = 0;
  std::string device;        // its name; empty where there is none
  bool interrupted = false;  // `stop` was set before the last kernel
  bool hung = false;         // a kernel still runs: the process should end without waiting for the device
};

enum class ExecutionOutcome { executed, failed, not_executed };

struct ExecutionStep {
  std::int64_t done = 0;  // kernels, this one among them
  std::int64_t total = 0;
  const jit::KernelSpec& latest;
  ExecutionOutcome outcome = ExecutionOutcome::executed;
};

// Called after each kernel. What it throws is dropped.
using ExecutionProgress = std::function<void(const ExecutionStep& step)>;

// Runs every kernel of the plan, one after another, at the largest size that fits (execution_size.hpp), and at the
// smallest M of its range besides. One kernel's module is loaded at a time. Kernels that do not fit the budget, or that
// the device does not run, are not executed; the others go on. After a hang, or an error that leaves the device
// unusable, nothing more is launched, and what may be in use is left behind. Once `*stop` is set no further kernel is
// begun; `stop` may be null. No memory stays in use otherwise. One execution at a time on a device.
ExecutionReport execute(const Plan& plan, const ExecutionParts& parts, const ExecutionOptions& options,
                        const ExecutionProgress& progress, const std::atomic<bool>* stop = nullptr);

// The report where there is no device: no kernel is executed, for this reason.
ExecutionReport execute_nothing(const Plan& plan, const std::string& reason);

}  // namespace cubinet::warmup
