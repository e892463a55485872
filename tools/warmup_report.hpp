// What `cubinet warmup` says when it is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "jit/jobs.hpp"
#include "tools/execution.hpp"
#include "warmup/runner.hpp"

namespace cubinet::tools {

// Of a record that the cabinet is complete for the request: the one of an earlier run, or one that this run has made;
// unknown where the index could not be read.
enum class Coverage { found, recorded, none, unknown };

// The memory of this process, in bytes.
struct HostMemory {
  std::int64_t peak = 0;
  std::int64_t per_job = 0;  // 0 where nothing was compiled
};

struct WarmupOutcome {
  std::size_t kernels = 0;  // of the plan
  std::string root;
  jit::Jobs jobs;
  warmup::Report report;
  HostMemory memory;
  std::int64_t damaged = 0;  // entries that were set aside
  Coverage coverage = Coverage::none;
  std::string coverage_problem;  // why what is complete could not be recorded; empty when it was, or is not complete
  bool executes = false;         // --execute
  bool executed_before = false;  // the record says that all was executed, too, and nothing was launched
  warmup::ExecutionReport execution;
  double seconds = 0;  // of the whole command
};

// Whether everything that was asked for is done, as far as the compilation goes.
bool complete(const warmup::Report& report);

// What --json prints.
Json warmup_object(const WarmupOutcome& outcome);
// What is printed otherwise.
std::string warmup_text(const WarmupOutcome& outcome);
// The troubles, as text on standard error.
void explain(const warmup::Report& report);
// What else there is to know, as notes.
void remark(const WarmupOutcome& outcome);

// What --help says of the object, and of the progress file's.
extern const char* const warmup_fields_help;
extern const char* const progress_fields_help;

}  // namespace cubinet::tools
