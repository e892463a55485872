// The seam between a campaign and whoever shows how far it is.
#pragma once

#include <cstdint>
#include <memory>

#include "jit/kernel_spec.hpp"
#include "warmup/campaign/runner.hpp"
#include "warmup/campaign/toolchain.hpp"
#include "warmup/execution/execution.hpp"

namespace cubinet::warmup {

enum class Phase { compiling, executing };

// "compiling" or "executing".
const char* phase_name(Phase phase);

// Who watches a campaign; every function may be left as it is. Those that say so are called from threads that compile.
class Observer {
 public:
  virtual ~Observer() = default;
  // Once, before anything is compiled or executed; not where a record tells that all was done before.
  virtual void opened(const Toolchain& toolchain);
  // A phase with so many kernels, and its end.
  virtual void begin(Phase phase, std::int64_t total);
  virtual void end(Phase phase);
  // In the place of a phase of compiling in which nothing is to be done: all kernels are there.
  virtual void found(std::int64_t total);
  // After each kernel of a phase, from one thread at a time. What these throw is dropped.
  virtual void compiled(const Step& step);
  virtual void executed(const ExecutionStep& step);
  // A kernel, of the plan or one that checks others, is being compiled as long as the answer lives. From any thread,
  // several at once.
  virtual std::shared_ptr<void> compiling(const jit::KernelSpec& spec);
  // See Sharing::waits.
  virtual void waits(std::int64_t holder);
};

}  // namespace cubinet::warmup
