#include "tools/warmup_report.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cache/layout.hpp"
#include "jit/accepted_compilers.hpp"
#include "tools/output.hpp"
#include "util/expected.hpp"
#include "util/text.hpp"

namespace cubinet::tools {
namespace {

std::string execution_line(const warmup::CampaignReport& outcome) {
  if (!outcome.asked.execute) return {};
  if (outcome.executed_before) {
    return fmt::format("{} kernels were executed before on {}\n", outcome.kernels, one_line(outcome.execution.device));
  }
  return execution_text(outcome.execution, outcome.report);
}

// Each state and reason once, followed by its kernels.
std::string not_executed_text(const warmup::ExecutionReport& execution, const warmup::Report& compilation) {
  std::vector<std::pair<std::string, std::string>> groups;
  for (const warmup::KernelNote& note : execution.not_executed) {
    std::string why = fmt::format("{}: {}", warmup::state_of(note, compilation), one_line(note.reason));
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == why; });
    if (group == groups.end()) group = groups.emplace(groups.end(), std::move(why), std::string());
    group->second += fmt::format("  {} {}\n", note.key.substr(0, 12), jit::describe(note.spec));
  }
  std::string text;
  for (const auto& [why, kernels] : groups) text += why + '\n' + kernels;
  return text;
}

}  // namespace

const char* const warmup_fields_help =
    "JSON: {unique_kernels, compiled, stored, replaced, hits, shared, failed, failures[] {key, family, code,\n"
    "message, log}, remaining, executed, execution_failures[] {key, family, n, k, config, message},\n"
    "not_executed[] {key, family, n, k, config, state (compiled, not executed|not compiled), reason},\n"
    "launches, peak_device_bytes, memory_budget, device, seconds, persist (on|readonly|off),\n"
    "persist_problem, damaged, coverage (found|recorded|none|unknown), coverage_problem, cache,\n"
    "cache_notice, jobs, jobs_reason (cores|memory|given), host_peak_bytes, host_bytes_per_job,\n"
    "compiler, compilers[] {compiler, kernels, accepted}, derivation[], notes[]}.\n"
    "stored: how many of the compiled kernels the cabinet holds now; replaced: how many of these replaced a\n"
    "kernel of a compiler that this build was not tested with; shared: how many of the hits another process\n"
    "compiled during this run. compiler: the one that was opened (empty: none); compilers: those that\n"
    "compiled the plan's kernels. derivation and notes: as for cubinet plan. launches and\n"
    "peak_device_bytes (device memory in use beyond that at the start, at most) are those of --execute,\n"
    "else 0. persist off: a kernel could not be stored, or was evicted again; persist_problem says why, and\n"
    "the exit code is 1. seconds: of the whole command. damaged: entries that were found damaged and moved\n"
    "to quarantine/; those of the plan are compiled again.\n"
    "host_peak_bytes: the largest resident memory of this process and its compile workers.\n"
    "host_bytes_per_job: the memory that compiling added, NVRTC included, per compile thread.\n"
    "coverage found: an earlier run was recorded, all of its kernels are intact, and nothing was compiled,\n"
    "nor executed if the record includes execution. recorded: this run was recorded. unknown: the run is\n"
    "complete, but the index with the records could not be read. coverage_problem: why a complete run could\n"
    "not be recorded, else empty.\n";

const char* const progress_fields_help =
    "--progress-file: {pid, run, host, pid_namespace, state (compiling|executing|done|failed|interrupted),\n"
    "done, total, compiled, hits, failed, seconds, rate, eta_seconds, heartbeat, current, current_seconds,\n"
    "message}. The file is replaced at each change, at most four times a second, and at least once a\n"
    "second. heartbeat is the time of day in seconds since 1970: if it is old and state is compiling or\n"
    "executing, the process hangs or has ended. All other states are final. run identifies this run; pid is\n"
    "valid in pid_namespace on host. rate is in kernels per second; rate and eta_seconds are null while\n"
    "unknown, and eta_seconds is null in a final state. current is the kernel in work, or the process that\n"
    "this one waits for, for current_seconds. FILE must be outside the cabinet, and each process needs its\n"
    "own: a file that another run updates is left to that run, with a note, until it ends or its heartbeat\n"
    "is old. A file with any other content is refused.\n";

std::string warmup_text(const warmup::CampaignReport& outcome) {
  const warmup::Report& report = outcome.report;
  std::string text =
      fmt::format("{}: {} compiled", count_text(static_cast<std::int64_t>(outcome.kernels), "kernel"), report.compiled);
  if (report.replaced > 0)
    text += fmt::format(" ({} of them replaced kernels of an unaccepted compiler)", report.replaced);
  if (report.stored != report.compiled) text += fmt::format(" ({} of them stored)", report.stored);
  text += fmt::format(", {} were there", report.hits);
  if (report.shared > 0) text += fmt::format(" ({} of them compiled by another process meanwhile)", report.shared);
  text += fmt::format(", {} failed", report.failed.size());
  if (!report.remaining.empty()) text += fmt::format(", {} not begun", report.remaining.size());
  const std::string compilers = jit::compilers_text(report.compilers);
  return fmt::format("{}; {}\n{}cache: {} (persistence {})\n{}", text, milliseconds_text(outcome.seconds * 1000),
                     compilers.empty() ? "" : "made by " + one_line(compilers) + "\n", one_line(outcome.root),
                     cache::persistence_name(report.persist), execution_line(outcome));
}

void explain(const warmup::Report& report) {
  for (const warmup::Failure& failure : report.failed) {
    Error error = failure.error;
    error.message = fmt::format("{} {}: {}", failure.family, failure.key.substr(0, 12), error.message);
    report_error(error, false, exit_failed);
  }
  if (!report.persist_problem.empty()) {
    note(fmt::format("{} of {} compiled kernels are stored: {}", report.stored, report.compiled,
                     report.persist_problem));
  }
  if (report.remaining.empty()) return;
  note(report.no_room ? "the rest was not started, because it could not be stored either; solve that (make room if the "
                        "disk is full) and run the same command again"
                      : "interrupted; run the same command again for the rest");
}

void remark(const warmup::CampaignReport& outcome) {
  if (outcome.damaged > 0) {
    note(fmt::format("{} damaged {} moved to {}; those of this plan are compiled again", outcome.damaged,
                     outcome.damaged == 1 ? "entry was" : "entries were",
                     cache::Layout{outcome.root}.quarantine().string()));
  }
  if (const std::string text = jit::unaccepted_text(outcome.report.compilers); !text.empty()) note(text);
  if (!outcome.root_notice.empty()) note(outcome.root_notice);
  if (outcome.coverage_problem.empty()) return;
  const bool unknown = outcome.coverage == warmup::CoverageState::unknown;
  note((unknown ? "complete, but the record of it cannot be read: " : "complete, but not recorded: ") +
       outcome.coverage_problem);
}

std::string execution_text(const warmup::ExecutionReport& execution, const warmup::Report& compilation) {
  const std::size_t total =
      static_cast<std::size_t>(execution.executed) + execution.failed.size() + execution.not_executed.size();
  std::string text = fmt::format("{} of {} kernels executed, {} failed, {} not executed", execution.executed, total,
                                 execution.failed.size(), execution.not_executed.size());
  if (!execution.device.empty()) {
    text += fmt::format("; {} launches on {}, at most {} of its memory (budget {}); {}", execution.launches,
                        one_line(execution.device), util::format_byte_size(execution.peak_device_bytes),
                        util::format_byte_size(execution.budget), milliseconds_text(execution.seconds * 1000));
  }
  text += '\n';
  return text + not_executed_text(execution, compilation);
}

void explain_execution(const warmup::ExecutionReport& execution) {
  for (const warmup::KernelNote& note : execution.failed) {
    const std::string message = fmt::format("{} {}: {}", jit::describe(note.spec), note.key.substr(0, 12), note.reason);
    report_error({ErrorCode::driver_failed, message, {}}, false, exit_failed);
  }
}

void leave_hung_device(const warmup::ExecutionReport& execution) {
  if (!execution.hung) return;
  finish_output();
  std::_Exit(exit_failed);
}

}  // namespace cubinet::tools
