// cubinet warmup: compile what the plan names and the cabinet lacks; on request, execute it.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tools/number.hpp"
#include "tools/observed_compiler.hpp"
#include "tools/output.hpp"
#include "tools/progress.hpp"
#include "tools/request.hpp"
#include "tools/signals.hpp"
#include "tools/toolchain.hpp"
#include "tools/warmup_report.hpp"
#include "util/cores.hpp"
#include "util/elapsed.hpp"
#include "util/memory.hpp"
#include "util/text.hpp"
#include "warmup/coverage.hpp"
#include "warmup/device_identity.hpp"

namespace cubinet::tools {
namespace {

struct WarmupOptions {
  RequestOptions request;
  ExecutionRequest execution;
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
    "  cubinet warmup --model config.json --ep 8 --dtype bf16,fp8\n"
    "  cubinet warmup --model config.json --ep 8 --execute --memory-budget 2GiB\n";

constexpr const char* warmup_help =
    "Needs NVRTC, but no GPU and no driver. SIGINT or SIGTERM lets the kernels in work finish and\n"
    "reports what is left; a second one ends the command at once. A later run compiles the rest only.\n"
    "Several at once on one cabinet share the work. A run that did all of its plan is recorded, and a\n"
    "later one that asks for no more looks whether all of it is still whole, and opens no NVRTC.\n"
    "With --execute every kernel is run afterwards on the first GPU that this process sees, on random\n"
    "operands as large as the budget allows, and compared with a reference. Where a kernel does not fit,\n"
    "the GPU is another one or there is none, it is compiled, not executed: that is exit code 1 with\n"
    "--strict alone. A wrong result is exit code 1 in every case. The kernels that check are kept in the\n"
    "cabinet, too.\n";

// What to say where kernels are to be compiled and there is no NVRTC.
tl::unexpected<Error> needs_nvrtc(std::size_t missing, std::size_t kernels, const std::string& root, Error reason) {
  reason.message =
      fmt::format("NVRTC is needed, since {} of {} kernels are not in {}: {}", missing, kernels, root, reason.message);
  return tl::make_unexpected(std::move(reason));
}

// Whether the plan can be carried out here: a cabinet that cannot be written, or a missing NVRTC, is no obstacle as
// long as nothing is to be compiled.
Expected<void> check_ready(const warmup::Plan& plan, const Toolchain& toolchain, const cache::Cabinet& cabinet) {
  const bool writable = cabinet.persistence() == cache::Persistence::on;
  if (writable && !toolchain.missing) return {};
  const auto missing = static_cast<std::size_t>(warmup::count_missing(plan, toolchain.compiler->version(), cabinet));
  if (missing == 0) return {};
  if (toolchain.missing) {
    return needs_nvrtc(missing, plan.kernels.size(), cabinet.root().string(), *toolchain.missing);
  }
  return fail(
      ErrorCode::cache_unusable,
      fmt::format("{} cannot be written, and {} of {} kernels are not in it; nothing was compiled ({}); make it "
                  "writable, or name another folder with --cache or CUBINET_CACHE_DIR",
                  cabinet.root().string(), missing, plan.kernels.size(), cabinet.readonly_reason()));
}

Expected<jit::Jobs> parse_jobs(const std::string& text) {
  if (text == "auto") return jit::choose_jobs(util::usable_cores(), util::memory_rooms());
  const auto jobs = parse_number(text);
  if (jobs && *jobs >= 1 && *jobs <= most_jobs) {
    return jit::Jobs{static_cast<int>(*jobs), jit::JobsReason::given, {}};
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("--jobs: '{}' is neither auto nor a whole number from 1 to {}", text, most_jobs));
}

void tell_jobs(const jit::Jobs& jobs) {
  if (jobs.reason != jit::JobsReason::memory) return;
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

// What is to be done, once the command line is understood.
struct Task {
  Request request;
  warmup::Plan plan;
  std::string root;
  cache::Limits limits;
  jit::Jobs jobs;
};

Expected<Task> understand(const WarmupOptions& options) {
  Task task;
  auto jobs = parse_jobs(options.jobs);
  if (!jobs) return tl::make_unexpected(jobs.error());
  auto request = resolve(options.request);
  if (!request) return tl::make_unexpected(request.error());
  auto plan = warmup::make_plan(request->plan);
  if (!plan) return tl::make_unexpected(plan.error());
  auto root = cache_root(options.cache);
  if (!root) return tl::make_unexpected(root.error());
  auto limits = environment_limits();
  if (!limits) return tl::make_unexpected(limits.error());
  return Task{std::move(*request), std::move(*plan), std::move(*root), *limits, std::move(*jobs)};
}

// One warmup, from the look-up of what was done before to the record of what is done now.
class Warmup {
 public:
  Warmup(const WarmupOptions& options, const Task& task, const std::atomic<bool>& stop)
      : options_(options),
        task_(task),
        stop_(stop),
        display_(progress_style(options.quiet), options.progress_file),
        device_(options.execution.execute ? warmup::identify_device() : fail(ErrorCode::driver_missing, "")),
        cabinet_(cache::Cabinet::open(task.root, false, {.limits = task.limits})) {
    outcome_.kernels = task.plan.kernels.size();
    outcome_.jobs = task.jobs;
    outcome_.executes = options.execution.execute;
  }

  int run() {
    // Under the version that the build expects, before anything is opened that takes time.
    const std::string expected = jit::configured_nvrtc_version();
    if (cabinet_ && look_up(expected)) return say_found();
    Toolchain toolchain = open_toolchain();
    if (!cabinet_) cabinet_ = open_root(toolchain);
    if (!cabinet_) return give_up(cabinet_.error());
    outcome_.root = cabinet_->root().string();
    if (const auto ready = check_ready(task_.plan, toolchain, *cabinet_); !ready) return give_up(ready.error());
    const std::string version = toolchain.compiler->version();
    if (version != expected && look_up(version)) return say_found();
    if (outcome_.coverage == Coverage::found) {
      outcome_.coverage = Coverage::recorded;  // as far as the compilation goes
    } else {
      compile(toolchain);
      record(version, {});
    }
    if (outcome_.executes) execute_all(toolchain);
    return say();
  }

 private:
  using Executed = std::optional<warmup::Executed>;

  // Makes the cabinet, if something could be put into it.
  [[nodiscard]] Expected<cache::Cabinet> open_root(const Toolchain& toolchain) const {
    auto opened = cache::Cabinet::open(task_.root, !toolchain.missing, {.limits = task_.limits});
    const bool absent = !opened && opened.error().code == ErrorCode::not_found;
    if (!absent || !toolchain.missing) return opened;
    return needs_nvrtc(outcome_.kernels, outcome_.kernels, task_.root, *toolchain.missing);
  }

  // Whether the cabinet is known to be complete for all that is asked; the report says so then. With --execute it may
  // be known for the compilation alone.
  bool look_up(const std::string& version) {
    outcome_.coverage = Coverage::none;  // what another version was complete for says nothing of this one
    outcome_.report = {};
    const auto covered = [&](const Executed& executed) {
      const auto subject = warmup::subject_of(task_.request.plan, version, executed);
      auto report = warmup::warm_from_coverage(*cabinet_, task_.plan, subject);
      if (report) outcome_.report = std::move(*report);
      return report.has_value();
    };
    outcome_.root = cabinet_->root().string();
    const bool whole = options_.execution.execute ? device_ && covered(*device_) : covered({});
    if (whole && device_) outcome_.execution.device = device_->device;
    if (whole || (options_.execution.execute && covered({}))) outcome_.coverage = Coverage::found;
    return whole;
  }

  void compile(Toolchain& toolchain) {
    const std::int64_t before = util::resident_bytes();
    ObservedCompiler compiler(*toolchain.compiler, display_);
    const auto progress = [this](const warmup::Step& step) { display_.finish(finish_of(step.outcome)); };
    warmup::Sharing sharing;
    if (!options_.quiet) {
      sharing.waits = [](std::int64_t holder) {
        note(fmt::format("waiting for process {}, which compiles a kernel of this plan", holder));
      };
    }
    display_.begin(Phase::compiling, static_cast<std::int64_t>(task_.plan.kernels.size()));
    outcome_.report = warmup::warm(task_.plan, compiler, &*cabinet_, task_.jobs.count, progress, &stop_, sharing);
    display_.end_phase();
    outcome_.memory = host_memory(before, outcome_.report, task_.jobs.count);
  }

  void execute_all(Toolchain& toolchain) {
    ObservedCompiler compiler(*toolchain.compiler, display_);
    outcome_.execution = execute(task_.plan, compiler, *cabinet_, options_.execution, display_, stop_);
    if (device_ && outcome_.execution.executed == static_cast<std::int64_t>(outcome_.kernels)) {
      record(toolchain.compiler->version(), *device_);
    }
  }

  void record(const std::string& version, const Executed& executed) {
    const auto subject = warmup::subject_of(task_.request.plan, version, executed);
    const auto recorded = warmup::record_coverage(*cabinet_, task_.plan, subject, outcome_.report);
    if (!recorded) outcome_.coverage_problem = recorded.error().message;
    if (recorded && *recorded) outcome_.coverage = Coverage::recorded;
  }

  // The last word of the progress file.
  void end_progress() {
    const warmup::Report& report = outcome_.report;
    const warmup::ExecutionReport& execution = outcome_.execution;
    if (!report.remaining.empty()) {
      display_.end(ProgressState::interrupted, fmt::format("{} kernels were not begun", report.remaining.size()));
    } else if (execution.interrupted) {
      display_.end(ProgressState::interrupted, "not every kernel was executed");
    } else if (!report.failed.empty()) {
      display_.end(ProgressState::failed, fmt::format("{} kernels failed; the first: {}", report.failed.size(),
                                                      report.failed.front().error.message));
    } else if (!report.persist_problem.empty()) {
      display_.end(ProgressState::failed, report.persist_problem);
    } else if (!execution_complete(execution, options_.execution)) {
      const auto& notes = execution.failed.empty() ? execution.not_executed : execution.failed;
      display_.end(ProgressState::failed, notes.front().reason);
    } else {
      display_.end(ProgressState::done);
    }
  }

  int say_found() {
    display_.begin(Phase::compiling, static_cast<std::int64_t>(outcome_.kernels));
    for (std::size_t i = 0; i < outcome_.kernels; ++i) display_.finish(Finish::hit);
    display_.end_phase();
    return say();
  }

  int give_up(const Error& error) {
    display_.end(ProgressState::failed, error.message);
    tell_remarks();
    return report_error(error, options_.json, exit_failed);
  }

  void tell_remarks() {
    if (cabinet_) outcome_.damaged = cabinet_->set_aside();
    if (!options_.quiet) remark(outcome_);
  }

  int say() {
    outcome_.seconds = util::seconds_since(begin_);
    end_progress();
    explain(outcome_.report);
    explain_execution(outcome_.execution);
    tell_remarks();
    if (options_.json) {
      print_object(warmup_object(outcome_));
    } else {
      print(warmup_text(outcome_));
    }
    leave_hung_device(outcome_.execution);
    const bool done = complete(outcome_.report) && execution_complete(outcome_.execution, options_.execution);
    return done ? exit_done : exit_failed;
  }

  const util::Moment begin_ = util::now();
  const WarmupOptions& options_;
  const Task& task_;
  const std::atomic<bool>& stop_;
  ProgressDisplay display_;
  Expected<warmup::Executed> device_;  // with --execute: where kernels are executed
  Expected<cache::Cabinet> cabinet_;
  WarmupOutcome outcome_;
};

int run(const WarmupOptions& options, const std::atomic<bool>& stop) {
  const auto task = understand(options);
  if (!task) return report_error(task.error(), options.json, exit_usage);
  if (!options.quiet) {
    if (!task->request.note.empty()) note(task->request.note);
    tell_jobs(task->jobs);
  }
  return Warmup(options, *task, stop).run();
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
  command
      ->add_option("--jobs", options->jobs,
                   "Compile threads; auto: the cores that this process may use, fewer where memory is short")
      ->type_name("N|auto")
      ->capture_default_str();
  add_execution_options(*command, options->execution);
  command
      ->add_option("--progress-file", options->progress_file,
                   "Keep a JSON object there that says how far it is, with a heartbeat for a watchdog")
      ->type_name("FILE")
      ->check([](const std::string& text) { return text.empty() ? "the name of the file is empty" : ""; }, "");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->add_flag("--quiet", options->quiet, "No progress and no notes");
  command->footer(std::string(warmup_example) + types_help + warmup_help + warmup_fields_help + progress_fields_help +
                  exit_codes_help);
  command->callback([options, &exit_code] { exit_code = run_watched(*options); });
}

}  // namespace cubinet::tools
