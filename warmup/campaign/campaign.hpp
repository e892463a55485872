// One warmup from end to end, for the command and for the C interface alike: look up what was done before, compile what
// is missing, record what the cabinet is complete for, and execute on request.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cache/limits.hpp"
#include "jit/jobs.hpp"
#include "util/expected.hpp"
#include "util/machine.hpp"
#include "warmup/campaign/observer.hpp"
#include "warmup/campaign/runner.hpp"
#include "warmup/execution/execution.hpp"
#include "warmup/planning/derivation.hpp"
#include "warmup/planning/option_names.hpp"
#include "warmup/planning/plan.hpp"

namespace cubinet::warmup {

// Whether kernels are executed once they are compiled, and how.
struct ExecutionRequest {
  bool execute = false;
  bool strict = false;                 // what was not executed makes the campaign fall short
  std::optional<std::int64_t> budget;  // bytes of device memory; none: the library's default
  int device = 0;                      // CUDA ordinal
};

// What is to be done.
struct Campaign {
  PlanRequest request;
  Plan plan;                           // of the request
  std::vector<Derivation> derivation;  // of the request's problems
  std::vector<std::string> notes;      // what the user should know of them
  std::string root;                    // of the cabinet
  cache::Limits limits;
  std::vector<std::string> nvrtc_folders;
  std::vector<util::MemoryRoom> rooms;  // before NVRTC took its part
  jit::Jobs jobs;                       // those that were given overrule what memory says
  ExecutionRequest execution;
  OptionNames names = command_options;
};

// Of a record that the cabinet is complete for the request: the one of an earlier run, or one that this run has made;
// unknown where the index could not be read.
enum class CoverageState { found, recorded, none, unknown };

// The memory of this process, in bytes.
struct HostMemory {
  std::int64_t peak = 0;
  std::int64_t per_job = 0;  // 0 where nothing was compiled
};

struct CampaignReport {
  std::size_t kernels = 0;             // of the plan
  std::vector<Derivation> derivation;  // as the campaign has them
  std::vector<std::string> notes;
  std::string root;
  std::string root_notice;  // see cache::Cabinet::notice
  jit::Jobs jobs;
  std::string compiler;  // the one that was opened, "NVRTC 13.0.88"; empty: none was, for want of one or of any need
  // Why nothing was begun, if so; then nothing but `damaged` says more.
  std::optional<Error> refused;
  Report report;
  HostMemory memory;
  std::int64_t damaged = 0;  // entries that were set aside
  CoverageState coverage = CoverageState::none;
  std::string coverage_problem;  // why what is complete could not be recorded; empty when it was, or is not complete
  ExecutionRequest asked;
  bool executed_before = false;  // the record says that all was executed, too, and nothing was launched
  ExecutionReport execution;
  double seconds = 0;  // of all of it
};

// Once `stop` is set no further kernel is begun, and those in work are finished; see warm() and execute(). Where a
// kernel hangs on the device, the report says so (ExecutionReport::hung), and what it may use is left behind. Throws
// std::bad_alloc alone. Campaigns of several threads and processes on one root share the work.
CampaignReport run(const Campaign& campaign, Observer& observer, const std::atomic<bool>& stop);

// Why not all is done that was asked for.
struct Shortfall {
  bool interrupted = false;  // by `stop`; else something failed
  std::string message;
};

// Nothing when all is done. Precondition: the campaign was not refused.
std::optional<Shortfall> shortfall_of(const CampaignReport& report);

// "compiled, not executed", or "not compiled", of a kernel that was not executed.
const char* state_of(const KernelNote& note, const Report& compilation);

}  // namespace cubinet::warmup
