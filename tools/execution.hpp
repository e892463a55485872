// `warmup --execute`: its options, the run on this machine's device, and how its outcome is said.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "cache/cabinet.hpp"
#include "jit/compiler.hpp"
#include "tools/output.hpp"
#include "tools/progress.hpp"
#include "util/expected.hpp"
#include "warmup/execution.hpp"
#include "warmup/runner.hpp"

namespace CLI {
class App;
}

namespace cubinet::tools {

struct ExecutionRequest {
  bool execute = false;
  bool strict = false;
  std::optional<std::int64_t> budget;  // bytes; none: the library's default
};

// Adds --execute, --memory-budget and --strict to a subcommand; `request` must outlive it.
void add_execution_options(CLI::App& app, ExecutionRequest& request);

// Executes the plan on device 0, and shows how far it is. Where there is none, nothing is executed, for the driver's
// reason.
warmup::ExecutionReport execute(const warmup::Plan& plan, jit::Compiler& compiler, cache::Cabinet& cabinet,
                                const ExecutionRequest& request, ProgressDisplay& display,
                                const std::atomic<bool>& stop);

// The report where nothing is executed, for this reason.
warmup::ExecutionReport execute_nothing(const warmup::Plan& plan, const jit::Compiler& compiler,
                                        const ExecutionRequest& request, const std::string& reason);

// Whether the exit code is 0 as far as the execution goes.
bool execution_complete(const warmup::ExecutionReport& execution, const ExecutionRequest& request);

// Sets the fields of the execution in the object of a warmup; `compilation` tells which kernels there are.
void add_execution(Json& object, const warmup::ExecutionReport& execution, const warmup::Report& compilation);

// A line on what was executed, and one for each kernel that was not, below the reason.
std::string execution_text(const warmup::ExecutionReport& execution, const warmup::Report& compilation);

// The failures, as text on standard error.
void explain_execution(const warmup::ExecutionReport& execution);

// Ends the process, where a kernel still runs: everything else would wait for it.
void leave_hung_device(const warmup::ExecutionReport& execution);

}  // namespace cubinet::tools
