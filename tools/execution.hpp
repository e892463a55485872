// `warmup --execute`: its options, and how its outcome is said.
#pragma once

#include <string>

#include "tools/command_line.hpp"
#include "warmup/campaign/campaign.hpp"

namespace cubinet::tools {

// Adds --execute, --memory-budget and --strict to a subcommand; `request` must outlive it.
void add_execution_options(Command command, warmup::ExecutionRequest& request);

// A line on what was executed, and one for each kernel that was not, below the reason.
std::string execution_text(const warmup::ExecutionReport& execution, const warmup::Report& compilation);

// The failures, as text on standard error.
void explain_execution(const warmup::ExecutionReport& execution);

// Ends the process, where a kernel still runs: everything else would wait for it.
void leave_hung_device(const warmup::ExecutionReport& execution);

}  // namespace cubinet::tools
