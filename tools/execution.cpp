#include "tools/execution.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/output.hpp"
#include "tools/table.hpp"
#include "util/text.hpp"

namespace cubinet::tools {
namespace {

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

void add_execution_options(Command command, warmup::ExecutionRequest& request) {
  const Option execute =
      command.flag("--execute", request.execute, "Run every kernel on this machine's GPU and check what it computes");
  const auto parse = [&request](const std::string& text) {
    const auto bytes = util::parse_byte_size(text);
    if (!bytes) return bytes.error().message;
    if (*bytes == 0) {
      return fmt::format("'{}' leaves no memory: give a size above 0, or leave the option out for half of what is free",
                         text);
    }
    request.budget = *bytes;
    return std::string();
  };
  command
      .parsed("--memory-budget", parse,
              "Device memory that executing may take, as 64MiB or 2GiB (default: half of what is free)")
      .type_name("SIZE")
      .needs(execute);
  command.flag("--strict", request.strict, "Exit code 1 where a kernel was not executed").needs(execute);
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
