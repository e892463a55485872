// The interface through which a campaign reports its progress.
#pragma once

#include <cstdint>
#include <memory>

#include "jit/kernel_spec.hpp"
#include "warmup/campaign/runner.hpp"
#include "warmup/campaign/setup.hpp"
#include "warmup/execution/execution.hpp"

namespace cubinet::warmup {

enum class Phase { compiling, executing };

// "compiling" or "executing".
constexpr const char* phase_name(Phase phase) { return phase == Phase::compiling ? "compiling" : "executing"; }

// Watches a campaign. Every function does nothing unless it is overridden. Functions are called from the thread that
// runs the campaign unless they say otherwise.
class Observer {
 public:
  virtual ~Observer() = default;

  // Called once, before anything is compiled or executed. Not called if a coverage record shows that all was done
  // before.
  virtual void opened(const Toolchain& /*toolchain*/) {}

  // Called at the start of a phase with `total` kernels, and at its end.
  virtual void begin(Phase /*phase*/, std::int64_t /*total*/) {}
  virtual void end(Phase /*phase*/) {}

  // Called instead of a compiling phase if a coverage record shows that all `total` kernels are present.
  virtual void found(std::int64_t /*total*/) {}

  // Called after each kernel of a phase, from any thread but from one at a time. Exceptions are ignored.
  virtual void compiled(const Step& /*step*/) {}
  virtual void executed(const ExecutionStep& /*step*/) {}

  // Called when the compilation of a kernel starts: of the plan, or of the verification kernels. The result is
  // destroyed when the compilation ends. Called from any thread, also from several at once.
  virtual std::shared_ptr<void> compiling(const jit::KernelSpec& /*spec*/) { return nullptr; }

  // See Sharing::waits.
  virtual void waits(std::int64_t /*holder*/) {}
};

}  // namespace cubinet::warmup
