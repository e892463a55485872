// cubinet warmup: compile what the plan names and the cabinet lacks; on request, execute it.
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cache/root.hpp"
#include "tools/execution.hpp"
#include "tools/number.hpp"
#include "tools/output.hpp"
#include "tools/progress.hpp"
#include "tools/request.hpp"
#include "tools/signals.hpp"
#include "tools/table.hpp"
#include "tools/toolchain.hpp"
#include "util/cores.hpp"
#include "warmup/runner.hpp"

namespace cubinet::tools {
namespace {

struct WarmupOptions {
  RequestOptions request;
  ExecutionRequest execution;
  std::string cache;
  std::string jobs = "auto";
  bool json = false;
  bool quiet = false;
};

constexpr int most_jobs = 1024;

constexpr const char* warmup_example =
    "Example:\n"
    "  cubinet warmup --model config.json --ep 8 --cache /opt/kernels\n"
    "  cubinet warmup --model config.json --ep 8 --dtype bf16,fp8\n"
    "  cubinet warmup --model config.json --ep 8 --execute --memory-budget 2GiB\n";

constexpr const char* warmup_help =
    "Needs NVRTC, but no GPU and no driver. SIGINT or SIGTERM lets the kernels in work finish and\n"
    "reports what is left; a second one ends the command at once. A later run compiles the rest only.\n"
    "With --execute every kernel is run afterwards on the first GPU that this process sees, on random\n"
    "operands as large as the budget allows, and compared with a reference. Where a kernel does not fit,\n"
    "the GPU is another one or there is none, it is compiled, not executed: that is exit code 1 with\n"
    "--strict alone. A wrong result is exit code 1 in every case. The kernels that check are kept in the\n"
    "cabinet, too.\n"
    "JSON: {unique_kernels, compiled, stored, hits, failed, failures[] {key, family, code, message, log},\n"
    "remaining, executed, execution_failures[] {key, family, n, k, config, message},\n"
    "not_executed[] {key, family, n, k, config, state (compiled, not executed|not compiled), reason},\n"
    "launches, seconds, peak_device_bytes, memory_budget, device, persist (on|readonly|off),\n"
    "persist_problem, cache, jobs}; stored says how many of compiled the cabinet holds now, launches and\n"
    "peak_device_bytes (the most device memory in use beyond that at the start) are those of executing.\n"
    "Without --execute nothing of it is done or listed: the fields are 0 and empty.";

// Whether the plan can be carried out here: a cabinet that cannot be written, or a missing NVRTC, is no obstacle as
// long as nothing is to be compiled.
Expected<void> check_ready(const warmup::Plan& plan, const Toolchain& toolchain, const cache::Cabinet& cabinet) {
  const bool writable = cabinet.persistence() == cache::Persistence::on;
  if (writable && !toolchain.missing) return {};
  const std::int64_t missing = warmup::count_missing(plan, toolchain.compiler->version(), cabinet);
  if (missing == 0) return {};
  if (toolchain.missing) return tl::make_unexpected(*toolchain.missing);
  const auto root = cache::open_root(cabinet.root(), false, util::system_calls());
  const std::string reason = root ? root->readonly_reason : root.error().message;
  return fail(
      ErrorCode::cache_unusable,
      fmt::format("{} cannot be written, and {} of {} kernels are not in it; nothing was compiled ({}); make it "
                  "writable, or name another folder with --cache or CUBINET_CACHE_DIR",
                  cabinet.root().string(), missing, plan.kernels.size(), reason));
}

Json failure_object(const warmup::Failure& failure) {
  return Json{{"key", failure.key},
              {"family", failure.family},
              {"code", code_name(failure.error.code)},
              {"message", failure.error.message},
              {"log", failure.error.detail}};
}

Json report_object(const warmup::Report& report, const warmup::ExecutionReport& execution, std::size_t kernels,
                   const std::string& root, int jobs) {
  Json failures = Json::array();
  for (const warmup::Failure& failure : report.failed) failures.push_back(failure_object(failure));
  Json object;
  object["unique_kernels"] = kernels;
  object["compiled"] = report.compiled;
  object["stored"] = report.stored;
  object["hits"] = report.hits;
  object["failed"] = report.failed.size();
  object["failures"] = std::move(failures);
  object["remaining"] = report.remaining;
  add_execution(object, execution, report);
  object["seconds"] = report.seconds + execution.seconds;
  object["persist"] = persist_name(report.persist);
  object["persist_problem"] = report.persist_problem;
  object["cache"] = root;
  object["jobs"] = jobs;
  return object;
}

void print_report(const warmup::Report& report, std::size_t kernels, const std::string& root) {
  std::string text = fmt::format("{} kernels: {} compiled", kernels, report.compiled);
  if (report.stored != report.compiled) text += fmt::format(" ({} of them stored)", report.stored);
  text += fmt::format(", {} were there, {} failed", report.hits, report.failed.size());
  if (report.remaining > 0) text += fmt::format(", {} not begun", report.remaining);
  print(fmt::format("{}; {}\ncache: {} (persistence {})\n", text, milliseconds_text(report.seconds * 1000), root,
                    persist_name(report.persist)));
}

// The troubles, as text on standard error.
void explain(const warmup::Report& report) {
  for (const warmup::Failure& failure : report.failed) {
    Error error = failure.error;
    error.message = fmt::format("{} {}: {}", failure.family, failure.key.substr(0, 12), error.message);
    report_error(error, false, exit_failed);
  }
  if (!report.persist_problem.empty()) {
    note(fmt::format("{} of {} compiled kernels could be stored: {}", report.stored, report.compiled,
                     report.persist_problem));
  }
  if (report.remaining > 0) note("interrupted; run the same command again for the rest");
}

bool complete(const warmup::Report& report) {
  return report.failed.empty() && report.remaining == 0 && report.persist_problem.empty();
}

Expected<int> parse_jobs(const std::string& text) {
  if (text == "auto") return util::usable_cores();
  const auto jobs = parse_number(text);
  if (jobs && *jobs >= 1 && *jobs <= most_jobs) return static_cast<int>(*jobs);
  return fail(ErrorCode::invalid_argument,
              fmt::format("--jobs: '{}' is neither auto nor a whole number from 1 to {}", text, most_jobs));
}

warmup::Report compile(const warmup::Plan& plan, Toolchain& toolchain, cache::Cabinet& cabinet, int jobs, bool quiet,
                       const std::atomic<bool>& stop) {
  ProgressDisplay display(progress_style(quiet));
  const auto progress = [&display](const warmup::Step& step) { display.show(step); };
  display.begin(static_cast<std::int64_t>(plan.kernels.size()));
  warmup::Report report = warmup::warm(plan, *toolchain.compiler, &cabinet, jobs, progress, &stop);
  display.clear();
  return report;
}

int run(const WarmupOptions& options, const std::atomic<bool>& stop) {
  const auto jobs = parse_jobs(options.jobs);
  if (!jobs) return report_error(jobs.error(), options.json, exit_usage);
  const auto request = resolve(options.request);
  if (!request) return report_error(request.error(), options.json, exit_usage);
  const auto plan = warmup::make_plan(request->plan);
  if (!plan) return report_error(plan.error(), options.json, exit_usage);
  const auto root = cache_root(options.cache);
  if (!root) return report_error(root.error(), options.json, exit_usage);
  if (!request->note.empty() && !options.quiet) note(request->note);

  Toolchain toolchain = open_toolchain();
  auto cabinet = cache::Cabinet::open(*root, !toolchain.missing);
  if (!cabinet) return report_error(toolchain.missing.value_or(cabinet.error()), options.json, exit_failed);
  if (const auto ready = check_ready(*plan, toolchain, *cabinet); !ready) {
    return report_error(ready.error(), options.json, exit_failed);
  }
  const warmup::Report report = compile(*plan, toolchain, *cabinet, *jobs, options.quiet, stop);
  explain(report);
  warmup::ExecutionReport execution;
  const ExecutionRequest& wanted = options.execution;
  if (wanted.execute) execution = execute(*plan, *toolchain.compiler, *cabinet, wanted, options.quiet, stop);
  explain_execution(execution);
  if (options.json) {
    print_object(report_object(report, execution, plan->kernels.size(), cabinet->root().string(), *jobs));
  } else {
    print_report(report, plan->kernels.size(), cabinet->root().string());
    if (wanted.execute) print(execution_text(execution, report));
  }
  leave_hung_device(execution);
  return complete(report) && execution_complete(execution, wanted) ? exit_done : exit_failed;
}

int run_watched(const WarmupOptions& options) {
  ignore_broken_pipes();  // progress that nobody reads any more must not end the work
  const SignalWatch watch(FirstSignal::asks);
  const int exit_code = run(options, watch.stop_requested());
  std::fflush(stdout);  // while a second signal still ends a write that waits; main says so if it failed
  return exit_code;
}

}  // namespace

void add_warmup(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("warmup", "Compile every kernel of the plan into the cabinet, and execute it on request");
  const auto options = std::make_shared<WarmupOptions>();
  add_request_options(*command, options->request);
  add_cache_option(*command, options->cache);
  command->add_option("--jobs", options->jobs, "Compile threads; auto: the cores this process may use")
      ->type_name("N|auto")
      ->capture_default_str();
  add_execution_options(*command, options->execution);
  command->add_flag("--json", options->json, "Print one JSON object");
  command->add_flag("--quiet", options->quiet, "No progress and no notes");
  command->footer(std::string(warmup_example) + types_help + warmup_help + "\n" + exit_codes_help);
  command->callback([options, &exit_code] { exit_code = run_watched(*options); });
}

}  // namespace cubinet::tools
