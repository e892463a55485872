#include "tools/execution.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "jit/driver.hpp"
#include "tools/progress.hpp"
#include "tools/table.hpp"
#include "util/text.hpp"

namespace cubinet::tools {
namespace {

Finish finish_of(warmup::ExecutionOutcome outcome) {
  switch (outcome) {
    case warmup::ExecutionOutcome::executed:
      return Finish::executed;
    case warmup::ExecutionOutcome::failed:
      return Finish::failed;
    case warmup::ExecutionOutcome::not_executed:
      return Finish::skipped;
  }
  return Finish::failed;
}

// Whether the warmup has made or found the kernel.
const char* state_of(const warmup::KernelNote& note, const warmup::Report& compilation) {
  const auto& failed = compilation.failed;
  const auto& remaining = compilation.remaining;
  const bool missing = std::any_of(failed.begin(), failed.end(),
                                   [&](const warmup::Failure& failure) { return failure.key == note.key; });
  const bool not_begun = std::find(remaining.begin(), remaining.end(), note.key) != remaining.end();
  return missing || not_begun ? "not compiled" : "compiled, not executed";
}

Json note_object(const warmup::KernelNote& note) {
  return Json{{"key", note.key},
              {"family", note.spec.family},
              {"n", note.spec.n},
              {"k", note.spec.k},
              {"config", jit::config_name(note.spec)}};
}

// Each state and reason once, before the kernels that it is true of.
std::string not_executed_text(const warmup::ExecutionReport& execution, const warmup::Report& compilation) {
  std::vector<std::pair<std::string, std::string>> groups;
  for (const warmup::KernelNote& note : execution.not_executed) {
    std::string why = fmt::format("{}: {}", state_of(note, compilation), one_line(note.reason));
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == why; });
    if (group == groups.end()) group = groups.emplace(groups.end(), std::move(why), std::string());
    group->second += fmt::format("  {} {}\n", note.key.substr(0, 12), jit::describe(note.spec));
  }
  std::string text;
  for (const auto& [why, kernels] : groups) text += why + '\n' + kernels;
  return text;
}

}  // namespace

void add_execution_options(CLI::App& app, ExecutionRequest& request) {
  auto* execute =
      app.add_flag("--execute", request.execute, "Run every kernel on this machine's GPU and check what it computes");
  const auto parse = [&request](const std::string& text) {
    const auto bytes = util::parse_byte_size(text);
    if (!bytes) throw CLI::ValidationError("--memory-budget", bytes.error().message);
    if (*bytes == 0) {
      throw CLI::ValidationError("--memory-budget",
                                 fmt::format("'{}' leaves no memory: give a size above 0, or leave the option out for "
                                             "half of what is free",
                                             text));
    }
    request.budget = *bytes;
  };
  app.add_option_function<std::string>(
         "--memory-budget", parse,
         "Device memory that executing may take, as 64MiB or 2GiB (default: half of what is free)")
      ->type_name("SIZE")
      ->needs(execute);
  app.add_flag("--strict", request.strict, "Exit code 1 where a kernel was not executed")->needs(execute);
}

warmup::ExecutionReport execute_nothing(const warmup::Plan& plan, const jit::Compiler& compiler,
                                        const ExecutionRequest& request, const std::string& reason) {
  auto report = warmup::execute_nothing(plan, compiler.version(), reason);
  report.budget = request.budget.value_or(0);
  return report;
}

warmup::ExecutionReport execute(const warmup::Plan& plan, jit::Compiler& compiler, cache::Cabinet& cabinet,
                                const ExecutionRequest& request, ProgressDisplay& display,
                                const std::atomic<bool>& stop) {
  const auto device = jit::open_device(0);
  if (!device) return execute_nothing(plan, compiler, request, device.error().message);
  warmup::ExecutionOptions options;
  options.budget = request.budget;
  options.seed = std::random_device{}();
  const auto progress = [&display](const warmup::ExecutionStep& step) { display.finish(finish_of(step.outcome)); };
  display.begin(Phase::executing, static_cast<std::int64_t>(plan.kernels.size()));
  auto report = warmup::execute(plan, {*device, compiler, &cabinet}, options, progress, &stop);
  display.end_phase();
  return report;
}

bool execution_complete(const warmup::ExecutionReport& execution, const ExecutionRequest& request) {
  return execution.failed.empty() && !execution.interrupted && !(request.strict && !execution.not_executed.empty());
}

void add_execution(Json& object, const warmup::ExecutionReport& execution, const warmup::Report& compilation) {
  Json failures = Json::array();
  for (const warmup::KernelNote& note : execution.failed) {
    failures.push_back(note_object(note));
    failures.back()["message"] = note.reason;
  }
  Json not_executed = Json::array();
  for (const warmup::KernelNote& note : execution.not_executed) {
    not_executed.push_back(note_object(note));
    not_executed.back()["state"] = state_of(note, compilation);
    not_executed.back()["reason"] = note.reason;
  }
  object["executed"] = execution.executed;
  object["execution_failures"] = std::move(failures);
  object["not_executed"] = std::move(not_executed);
  object["launches"] = execution.launches;
  object["peak_device_bytes"] = execution.peak_device_bytes;
  object["memory_budget"] = execution.budget;
  object["device"] = execution.device;
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
