// cubinet warmup: compile what the plan names and the cabinet lacks.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cache/root.hpp"
#include "tools/number.hpp"
#include "tools/observed_compiler.hpp"
#include "tools/output.hpp"
#include "tools/progress.hpp"
#include "tools/request.hpp"
#include "tools/signals.hpp"
#include "tools/table.hpp"
#include "tools/toolchain.hpp"
#include "util/cores.hpp"
#include "util/memory.hpp"
#include "util/text.hpp"
#include "warmup/jobs.hpp"
#include "warmup/runner.hpp"

namespace cubinet::tools {
namespace {

struct WarmupOptions {
  RequestOptions request;
  std::string cache;
  std::string jobs = "auto";
  std::string progress_file;
  bool json = false;
  bool quiet = false;
};

constexpr int most_jobs = 1024;

constexpr const char* warmup_example =
    "Example:\n"
    "  cubinet warmup --model config.json --ep 8 --cache /opt/kernels\n"
    "  cubinet warmup --model config.json --ep 8 --dtype bf16,fp8\n";

constexpr const char* warmup_help =
    "Needs NVRTC, but no GPU and no driver. SIGINT or SIGTERM lets the kernels in work finish and\n"
    "reports what is left; a second one ends the command at once. A later run compiles the rest only.\n"
    "JSON: {unique_kernels, compiled, stored, hits, failed, failures[] {key, family, code, message, log},\n"
    "remaining, executed, not_executed[], launches, seconds, peak_device_bytes,\n"
    "persist (on|readonly|off), persist_problem, cache, jobs, jobs_reason (cores|memory|given),\n"
    "host_peak_bytes, host_bytes_per_job}; stored says how many of compiled the cabinet holds now.\n"
    "host_peak_bytes is the most memory that was resident, host_bytes_per_job what came with compiling,\n"
    "NVRTC's own among it, over the threads that compiled. executed, not_executed, launches and\n"
    "peak_device_bytes are there for tools that read them: compiling uses no device, so they are 0 and\n"
    "empty.";

constexpr const char* progress_help =
    "--progress-file: {pid, state (compiling|executing|done|failed|interrupted), done, total, compiled,\n"
    "hits, failed, seconds, rate, eta_seconds, heartbeat, current, current_seconds, message}, replaced\n"
    "whole at each change, but at most four times a second, and at least once a second. heartbeat is the\n"
    "time of day in seconds since 1970: where it is old and state says compiling or executing, the\n"
    "process hangs or is gone. rate is kernels per second, and it and eta_seconds are null until known;\n"
    "current is in work, for current_seconds. A state that is neither of the two is final.\n";

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

// The memory of this process, in bytes.
struct HostMemory {
  std::int64_t peak = 0;
  std::int64_t per_job = 0;  // 0 where nothing was compiled
};

Json report_object(const warmup::Report& report, std::size_t kernels, const std::string& root, const warmup::Jobs& jobs,
                   const HostMemory& memory) {
  Json failures = Json::array();
  for (const warmup::Failure& failure : report.failed) failures.push_back(failure_object(failure));
  return Json{{"unique_kernels", kernels},
              {"compiled", report.compiled},
              {"stored", report.stored},
              {"hits", report.hits},
              {"failed", report.failed.size()},
              {"failures", std::move(failures)},
              {"remaining", report.remaining},
              {"executed", 0},
              {"not_executed", Json::array()},
              {"launches", 0},
              {"seconds", report.seconds},
              {"peak_device_bytes", 0},
              {"persist", persist_name(report.persist)},
              {"persist_problem", report.persist_problem},
              {"cache", root},
              {"jobs", jobs.count},
              {"jobs_reason", warmup::reason_name(jobs.reason)},
              {"host_peak_bytes", memory.peak},
              {"host_bytes_per_job", memory.per_job}};
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

Expected<warmup::Jobs> parse_jobs(const std::string& text) {
  if (text == "auto") return warmup::choose_jobs(util::usable_cores(), util::memory_rooms());
  const auto jobs = parse_number(text);
  if (jobs && *jobs >= 1 && *jobs <= most_jobs) {
    return warmup::Jobs{static_cast<int>(*jobs), warmup::JobsReason::given, {}};
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("--jobs: '{}' is neither auto nor a whole number from 1 to {}", text, most_jobs));
}

void tell_jobs(const warmup::Jobs& jobs) {
  if (jobs.reason != warmup::JobsReason::memory) return;
  note(fmt::format("{} at a time, fewer than there are cores: {} of memory are left by {}; --jobs N overrules that",
                   jobs.count, util::format_byte_size(jobs.tightest.bytes), jobs.tightest.limit));
}

Finish finish_of(warmup::Outcome outcome) {
  switch (outcome) {
    case warmup::Outcome::compiled:
      return Finish::compiled;
    case warmup::Outcome::there:
      return Finish::hit;
    case warmup::Outcome::failed:
      return Finish::failed;
  }
  return Finish::failed;
}

// What the process has taken since it held `before`, over the threads that compiled.
HostMemory host_memory(std::int64_t before, const warmup::Report& report, int jobs) {
  const std::int64_t peak = util::peak_resident_bytes();
  const auto worked = report.compiled + static_cast<std::int64_t>(report.failed.size());
  const std::int64_t threads = std::min<std::int64_t>(jobs, worked);
  return {peak, threads > 0 ? std::max<std::int64_t>(peak - before, 0) / threads : 0};
}

struct Compiled {
  warmup::Report report;
  HostMemory memory;
};

Compiled compile(const warmup::Plan& plan, Toolchain& toolchain, cache::Cabinet& cabinet, int jobs,
                 ProgressDisplay& display, const std::atomic<bool>& stop) {
  const std::int64_t before = util::resident_bytes();
  ObservedCompiler compiler(*toolchain.compiler, display);
  const auto progress = [&display](const warmup::Step& step) { display.finish(finish_of(step.outcome)); };
  display.begin(Phase::compiling, static_cast<std::int64_t>(plan.kernels.size()));
  warmup::Report report = warmup::warm(plan, compiler, &cabinet, jobs, progress, &stop);
  display.end_phase();
  const HostMemory memory = host_memory(before, report, jobs);
  return {std::move(report), memory};
}

// The last word of the progress file.
void end(ProgressDisplay& display, const warmup::Report& report) {
  if (report.remaining > 0) {
    display.end(ProgressState::interrupted, fmt::format("{} kernels were not begun", report.remaining));
  } else if (!report.failed.empty()) {
    display.end(ProgressState::failed, fmt::format("{} kernels failed; the first: {}", report.failed.size(),
                                                   report.failed.front().error.message));
  } else if (!report.persist_problem.empty()) {
    display.end(ProgressState::failed, report.persist_problem);
  } else {
    display.end(ProgressState::done);
  }
}

int give_up(ProgressDisplay& display, const Error& error, bool json) {
  display.end(ProgressState::failed, error.message);
  return report_error(error, json, exit_failed);
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
  if (!options.quiet) tell_jobs(*jobs);

  ProgressDisplay display(progress_style(options.quiet), options.progress_file);
  Toolchain toolchain = open_toolchain();
  auto cabinet = cache::Cabinet::open(*root, !toolchain.missing);
  if (!cabinet) return give_up(display, toolchain.missing.value_or(cabinet.error()), options.json);
  if (const auto ready = check_ready(*plan, toolchain, *cabinet); !ready) {
    return give_up(display, ready.error(), options.json);
  }
  const auto [report, memory] = compile(*plan, toolchain, *cabinet, jobs->count, display, stop);
  end(display, report);
  explain(report);
  if (options.json) {
    print_object(report_object(report, plan->kernels.size(), cabinet->root().string(), *jobs, memory));
  } else {
    print_report(report, plan->kernels.size(), cabinet->root().string());
  }
  return complete(report) ? exit_done : exit_failed;
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
  CLI::App* command = app.add_subcommand("warmup", "Compile every kernel of the plan into the cabinet");
  const auto options = std::make_shared<WarmupOptions>();
  add_request_options(*command, options->request);
  add_cache_option(*command, options->cache);
  command
      ->add_option("--jobs", options->jobs,
                   "Compile threads; auto: the cores that this process may use, fewer where memory is short")
      ->type_name("N|auto")
      ->capture_default_str();
  command
      ->add_option("--progress-file", options->progress_file,
                   "Keep a JSON object there that says how far it is, with a heartbeat for a watchdog")
      ->type_name("FILE")
      ->check([](const std::string& text) { return text.empty() ? "the name of the file is empty" : ""; }, "");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->add_flag("--quiet", options->quiet, "No progress and no notes");
  command->footer(std::string(warmup_example) + types_help + warmup_help + "\n" + progress_help + exit_codes_help);
  command->callback([options, &exit_code] { exit_code = run_watched(*options); });
}

}  // namespace cubinet::tools
