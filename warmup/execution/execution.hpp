// Executes a plan: runs every kernel on a device, within a memory budget, and compares its result with a reference.
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
#include "jit/families/registry.hpp"
#include "warmup/planning/plan.hpp"

namespace cubinet::warmup {

// The source of cubins and the device that runs them.
struct ExecutionParts {
  std::shared_ptr<const jit::DeviceContext> device;  // never null
  jit::Compiler& compiler;                           // compiles kernels that the cabinet lacks
  cache::Cabinet* cabinet = nullptr;                 // may be null
  const jit::Registry& families = jit::families();   // the one that made the plan; outlives the execution
};

struct ExecutionOptions {
  // Bytes of device memory that may be in use beyond what is in use at the start; none: default_budget().
  std::optional<std::int64_t> budget;
  std::uint64_t seed = 1;                      // of the operands; should differ from run to run
  std::chrono::milliseconds deadline{30'000};  // a launch that takes longer counts as a hang
};

// The budget if the user gives none: half of the free device memory.
constexpr std::int64_t default_budget(std::int64_t free_bytes) { return free_bytes / 2; }

// A kernel that was not executed or whose result is wrong, and why.
struct KernelNote {
  std::string key;  // hexadecimal
  jit::KernelSpec spec;
  std::string reason;
};

struct ExecutionReport {
  // Every kernel of the plan is in one of these three.
  std::int64_t executed = 0;             // kernels that ran with the right result
  std::vector<KernelNote> failed;        // a wrong result, a hang, or a driver error
  std::vector<KernelNote> not_executed;  // did not run
  std::int64_t launches = 0;             // of the plan's kernels; without verification kernels
  std::int64_t peak_device_bytes = 0;    // most device memory in use beyond that at the start, as the driver reports it
  std::int64_t budget = 0;
  double seconds = 0;
  std::string device;        // name; empty if there is no device
  bool interrupted = false;  // `stop` was set before the last kernel
  bool hung = false;         // a kernel is still running: the process should end without waiting for the device
};

enum class ExecutionOutcome { executed, failed, not_executed };

struct ExecutionStep {
  std::int64_t done = 0;  // number of kernels done, including this one
  std::int64_t total = 0;
  const jit::KernelSpec& latest;
  ExecutionOutcome outcome = ExecutionOutcome::executed;
};

// Called after each kernel. Exceptions are ignored.
using ExecutionProgress = std::function<void(const ExecutionStep& step)>;

// Runs every kernel of the plan, one after another, at the largest size that fits (execution_size.hpp) and at the
// smallest M of its range. One kernel is loaded at a time. Kernels that do not fit the budget, or that the device
// cannot run, are not executed; the others are. After a hang, or an error that makes the device unusable, no other
// kernel is launched. After `*stop` is set no other kernel is started; `stop` may be null. All device memory is freed
// at the end, except after a hang, when the device may still use it. Only one execution may run on a device at a time.
ExecutionReport execute(const Plan& plan, const ExecutionParts& parts, const ExecutionOptions& options,
                        const ExecutionProgress& progress, const std::atomic<bool>* stop = nullptr);

// The report if there is no device: no kernel is executed, for this reason.
ExecutionReport execute_nothing(const Plan& plan, const std::string& reason);

}  // namespace cubinet::warmup
