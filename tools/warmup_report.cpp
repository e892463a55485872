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

// Each state and reason once, before the kernels that it is true of.
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
    "compiler, compilers[] {compiler, kernels, accepted}, derivation[], notes[]}; stored says how many of\n"
    "compiled the cabinet holds now, replaced how many of these took the place of a kernel of a compiler\n"
    "that this build was not tested with; compiler is the one that was opened (empty: none), compilers\n"
    "those that made the plan's kernels; derivation and notes are those of cubinet plan; shared says how\n"
    "many of hits another process made meanwhile, launches and peak_device_bytes (the most device memory\n"
    "in use beyond that at the start) are those of executing; without --execute they are 0. persist off:\n"
    "something could not be stored or was evicted again, and persist_problem why, which is exit code 1.\n"
    "seconds are those of the whole command. damaged entries were found and set aside in quarantine/;\n"
    "those of the plan are made again.\n"
    "host_peak_bytes is the most memory that was resident, host_bytes_per_job what came with compiling,\n"
    "NVRTC's own among it, over the threads that compiled. coverage found: a record said that all was\n"
    "compiled before, every kernel was looked at and is whole, and nothing was compiled; nor was anything\n"
    "launched, if the record said that it was executed, too. recorded: this run made a record. unknown:\n"
    "all of it is done, and the index, where that may be recorded, could not be read.\n"
    "coverage_problem: all of it is done, and why that could not be recorded; empty otherwise.\n";

const char* const progress_fields_help =
    "--progress-file: {pid, run, host, pid_namespace, state (compiling|executing|done|failed|interrupted),\n"
    "done, total, compiled, hits, failed, seconds, rate, eta_seconds, heartbeat, current, current_seconds,\n"
    "message}, replaced whole at each change, but at most four times a second, and at least once a second.\n"
    "heartbeat is the time of day in seconds since 1970: where it is old and state says compiling or\n"
    "executing, the process hangs or is gone. run is a number of this run alone; pid counts in pid_namespace\n"
    "and on host. rate is kernels per second, and it and eta_seconds are null until known; current is in\n"
    "work, or says for which process this one is waiting, for current_seconds. A state that is neither of\n"
    "the two is final, and eta_seconds is null then. FILE lies outside the cabinet, one for each process:\n"
    "one that another run keeps gets a note, and is left to it until that run ends or its heartbeat is old.\n"
    "A file with anything else in it is refused.\n";

std::string warmup_text(const warmup::CampaignReport& outcome) {
  const warmup::Report& report = outcome.report;
  std::string text =
      fmt::format("{}: {} compiled", count_text(static_cast<std::int64_t>(outcome.kernels), "kernel"), report.compiled);
  if (report.replaced > 0)
    text += fmt::format(" ({} of them in the place of an unaccepted compiler's)", report.replaced);
  if (report.stored != report.compiled) text += fmt::format(" ({} of them stored)", report.stored);
  text += fmt::format(", {} were there", report.hits);
  if (report.shared > 0) text += fmt::format(" ({} of them made by another process meanwhile)", report.shared);
  text += fmt::format(", {} failed", report.failed.size());
  if (!report.remaining.empty()) text += fmt::format(", {} not begun", report.remaining.size());
  const std::string makers = jit::makers_text(report.compilers);
  return fmt::format("{}; {}\n{}cache: {} (persistence {})\n{}", text, milliseconds_text(outcome.seconds * 1000),
                     makers.empty() ? "" : "made by " + one_line(makers) + "\n", one_line(outcome.root),
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
  note(report.no_room ? "the rest was not begun, as it could not be stored either; mend that (make room, where it is "
                        "full), and run the same command again"
                      : "interrupted; run the same command again for the rest");
}

void remark(const warmup::CampaignReport& outcome) {
  if (outcome.damaged > 0) {
    note(fmt::format("{} damaged {} set aside ({}); what of that this plan needs is made again", outcome.damaged,
                     outcome.damaged == 1 ? "entry was" : "entries were",
                     cache::Layout{outcome.root}.quarantine().string()));
  }
  if (const std::string text = jit::unaccepted_text(outcome.report.compilers); !text.empty()) note(text);
  if (!outcome.root_notice.empty()) note(outcome.root_notice);
  if (outcome.coverage_problem.empty()) return;
  const bool unknown = outcome.coverage == warmup::CoverageState::unknown;
  note((unknown ? "complete; whether that is recorded cannot be read: " : "complete, but not recorded: ") +
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
