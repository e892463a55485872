// One warmup from start to end, as the command and the C interface run it: read the coverage records, compile the
// missing kernels, write a coverage record, and execute the kernels if asked to.
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
#include "warmup/planning/model_problems.hpp"
#include "warmup/planning/option_names.hpp"
#include "warmup/planning/plan.hpp"

namespace cubinet::warmup {

// Whether and how kernels are executed after they have been compiled.
struct ExecutionRequest {
  bool execute = false;
  bool strict = false;                 // a kernel that was not executed makes the campaign fail
  std::optional<std::int64_t> budget;  // bytes of device memory; none: default_budget()
  int device = 0;                      // CUDA ordinal
};

// The input of a campaign.
struct Campaign {
  PlanRequest request;
  Plan plan;                           // the kernels of the request
  std::vector<Derivation> derivation;  // how the request's problems were derived
  std::vector<std::string> notes;      // for the user, about the request's problems
  std::string root;                    // the cabinet's folder
  cache::Limits limits;
  std::vector<std::string> nvrtc_folders;
  std::vector<util::MemoryRoom> rooms;  // free memory, measured before NVRTC is opened
  jit::Jobs jobs;                       // a number that the user gave is used even if memory is short
  ExecutionRequest execution;
  OptionNames names = command_options;
};

// Whether there is a coverage record for the request.
//   found     an earlier run wrote it
//   recorded  this run wrote it
//   unknown   the index could not be read
enum class CoverageState { found, recorded, none, unknown };

// Host memory of this process and its compile workers, in bytes.
struct HostMemory {
  std::int64_t peak = 0;
  std::int64_t per_job = 0;  // for each kernel that is compiled at once; 0 if nothing was compiled
};

struct CampaignReport {
  std::size_t kernels = 0;             // number of kernels in the plan
  std::vector<Derivation> derivation;  // copied from the campaign, like the notes
  std::vector<std::string> notes;
  std::string root;
  std::string root_notice;  // see cache::Cabinet::notice
  jit::Jobs jobs;
  std::string compiler;  // the compiler that was opened, "NVRTC 13.0.88"; empty if there was none or no need for one
  // Why the campaign did not start; empty if it did. If it did not, `damaged` is the only other valid member.
  std::optional<Error> refused;
  Report report;
  HostMemory memory;
  std::int64_t damaged = 0;  // entries that were moved to quarantine
  CoverageState coverage = CoverageState::none;
  std::string coverage_problem;  // why the coverage record could not be written; empty if it was, or was not due
  ExecutionRequest asked;
  bool executed_before = false;  // the coverage record says that all kernels were executed; none was launched
  ExecutionReport execution;
  double seconds = 0;  // of the whole campaign
};

// Runs the campaign. After `stop` is set, kernels in work are finished and no other kernel is started; see warm() and
// execute(). If a kernel hangs on the device, ExecutionReport::hung is true and the memory that it may use is not
// freed. Throws nothing but std::bad_alloc. Campaigns of several threads and processes on one root share the work.
CampaignReport run(const Campaign& campaign, Observer& observer, const std::atomic<bool>& stop);

// Why a campaign did not do everything that was asked for.
struct Shortfall {
  bool interrupted = false;  // true: `stop` was set; false: something failed
  std::string message;
};

// None if everything was done. Precondition: the campaign was not refused.
std::optional<Shortfall> shortfall_of(const CampaignReport& report);

// "compiled, not executed" or "not compiled", for a kernel that was not executed.
const char* state_of(const KernelNote& note, const Report& compilation);

// The object that `cubinet warmup --json` prints; the command's --help describes its members. Precondition: the
// campaign was not refused. Throws nothing but std::bad_alloc.
std::string campaign_json(const CampaignReport& report);

}  // namespace cubinet::warmup
