// cubinet warmup: compile what the plan names and the cabinet lacks; on request, execute it.
#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cache/layout.hpp"
#include "tools/jobs.hpp"
#include "tools/observed_compiler.hpp"
#include "tools/output.hpp"
#include "tools/progress.hpp"
#include "tools/request.hpp"
#include "tools/signals.hpp"
#include "tools/table.hpp"
#include "tools/toolchain.hpp"
#include "tools/warmup_report.hpp"
#include "util/elapsed.hpp"
#include "util/memory.hpp"
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

constexpr const char* warmup_example =
    "Example:\n"
    "  cubinet warmup --model config.json --ep 8 --cache /opt/kernels\n"
    "  cubinet warmup --model config.json --ep 8 --dtype bf16,fp8\n"
    "  cubinet warmup --model config.json --ep 8 --execute --memory-budget 2GiB\n";

constexpr const char* warmup_help =
    "Needs NVRTC, but no GPU and no driver. SIGINT, SIGTERM or SIGHUP lets the kernels in work finish\n"
    "and reports what is left; a second one ends the command at once. A later run compiles the rest only.\n"
    "Where the cabinet has no more room, no further kernel is begun either: that is exit code 1.\n"
    "Several at once on one cabinet share the work. A run that did all of its plan is recorded, and a\n"
    "later one that asks for no more looks whether all of it is still whole, and opens no NVRTC.\n"
    "With --execute every kernel is run afterwards on the first GPU that this process sees, on random\n"
    "operands as large as the budget allows, and compared with a reference. Where a kernel does not fit,\n"
    "the GPU is another one or there is none, it is compiled, not executed: that is exit code 1 with\n"
    "--strict alone. A wrong result is exit code 1 in every case. The kernels that check are kept in the\n"
    "cabinet, too.\n";

// "3 of 7 kernels are not in /opt/kernels", or why they cannot be read there.
std::string missing_text(const warmup::Missing& missing, std::size_t kernels, const std::string& root) {
  const std::string text = fmt::format("{} of {} kernels are not in {}", missing.kernels, kernels, root);
  return missing.unreadable.empty() ? text : fmt::format("{}, or cannot be read ({})", text, missing.unreadable);
}

// What to say where kernels are to be compiled and there is no NVRTC.
tl::unexpected<Error> needs_nvrtc(const std::string& missing, Error reason) {
  reason.message = fmt::format("NVRTC is needed, since {}: {}", missing, reason.message);
  return tl::make_unexpected(std::move(reason));
}

// Whether the plan can be carried out here: a cabinet that cannot be written, or a missing NVRTC, is no obstacle as
// long as nothing is to be compiled.
Expected<void> check_ready(const warmup::Plan& plan, const Toolchain& toolchain, const cache::Cabinet& cabinet) {
  const bool writable = cabinet.persistence() == cache::Persistence::on;
  if (writable && !toolchain.missing) return {};
  const auto missing = warmup::look_for_missing(plan, toolchain.compiler->version(), cabinet);
  if (missing.kernels == 0) return {};
  const std::string text = missing_text(missing, plan.kernels.size(), cabinet.root().string());
  if (toolchain.missing) return needs_nvrtc(text, *toolchain.missing);
  return fail(ErrorCode::cache_unusable,
              fmt::format("{}, which cannot be written ({}); nothing was compiled; make it readable and writable, or "
                          "name another folder with --cache or CUBINET_CACHE_DIR",
                          text, cabinet.readonly_reason()));
}

// An arena of 64 MiB for each thread that allocates, as those of the progress do, would be most of what is left to one
// thread that compiles.
void share_one_arena(const jit::Jobs& jobs) {
  if (jobs.count == 1) mallopt(M_ARENA_MAX, 1);
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
  std::vector<util::MemoryRoom> rooms;  // before NVRTC took its part
  jit::Jobs jobs;

  // Jobs that were given overrule what memory says.
  [[nodiscard]] Expected<void> room() const {
    return jobs.reason == jit::JobsReason::given ? Expected<void>() : jit::check_memory(rooms);
  }
};

// Before anything is written there: no part of the cabinet may be replaced, nor what is read, nor what others made.
// A file that another warmup keeps is no mistake that costs the work: the display leaves it alone.
Expected<void> check_progress_file(const WarmupPaths& paths) {
  if (paths.progress_file.empty()) return {};
  if (const auto root = cache_root(paths.cache)) {
    if (auto outside = check_outside("--progress-file", paths.progress_file, *root); !outside) return outside;
  }
  if (auto apart = check_apart("--progress-file", paths.progress_file, "--model", paths.model); !apart) return apart;
  const auto there = read_progress(paths.progress_file);
  if (there) return {};
  return fail(ErrorCode::invalid_argument, "--progress-file: " + there.error().message);
}

Expected<Task> understand(const WarmupOptions& options) {
  auto rooms = util::memory_rooms();
  auto jobs = parse_jobs(options.jobs, rooms);
  if (!jobs) return tl::make_unexpected(jobs.error());
  auto request = resolve(options.request);
  if (!request) return tl::make_unexpected(request.error());
  auto plan = warmup::make_plan(request->plan);
  if (!plan) return tl::make_unexpected(plan.error());
  auto root = cache_root(options.cache);
  if (!root) return tl::make_unexpected(root.error());
  auto limits = environment_limits();
  if (!limits) return tl::make_unexpected(limits.error());
  return Task{std::move(*request), std::move(*plan), std::move(*root), *limits, std::move(rooms), std::move(*jobs)};
}

// That the environment names an NVRTC, and another one compiles.
void tell_passed_over(const Toolchain& toolchain) {
  const std::string over = passed_over(toolchain);
  if (!over.empty()) note(fmt::format("{}; this is compiled by {}", over, location_of(toolchain).path));
}

// The end of a command that does nothing.
int give_up(const Error& error, const WarmupOptions& options, ExitCode exit_code, ProgressDisplay& display) {
  display.end(ProgressState::failed, error.message);
  return report_error(error, options.json, exit_code);
}

// One warmup, from the look-up of what was done before to the record of what is done now.
class Warmup {
 public:
  Warmup(const WarmupOptions& options, const Task& task, const std::atomic<bool>& stop, ProgressDisplay& display)
      : options_(options),
        task_(task),
        stop_(stop),
        display_(display),
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
    Toolchain toolchain = open_toolchain(task_.room());
    if (!cabinet_) cabinet_ = open_root(toolchain);
    if (!cabinet_) return fail_with(cabinet_.error());
    outcome_.root = cabinet_->root().string();
    if (!options_.quiet) tell_passed_over(toolchain);
    if (const auto ready = check_ready(task_.plan, toolchain, *cabinet_); !ready) return fail_with(ready.error());
    const std::string version = toolchain.compiler->version();
    if (version != expected && look_up(version)) return say_found();
    if (outcome_.coverage == Coverage::found) {
      display_.found(static_cast<std::int64_t>(outcome_.kernels));
    } else {
      compile(toolchain);
      record(version, {});
    }
    if (outcome_.executes) execute_all(toolchain);
    return say();
  }

 private:
  using Executed = std::optional<warmup::Executed>;
  struct LastWord {
    ProgressState state;
    std::string message;
  };

  // Makes the cabinet, if something could be put into it.
  [[nodiscard]] Expected<cache::Cabinet> open_root(const Toolchain& toolchain) const {
    auto opened = cache::Cabinet::open(task_.root, !toolchain.missing, {.limits = task_.limits});
    const bool absent = !opened && opened.error().code == ErrorCode::not_found;
    if (!absent || !toolchain.missing) return opened;
    const warmup::Missing all{static_cast<std::int64_t>(outcome_.kernels), {}};
    return needs_nvrtc(missing_text(all, outcome_.kernels, task_.root), *toolchain.missing);
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
    const bool whole = outcome_.executes ? device_ && covered(*device_) : covered({});
    outcome_.executed_before = whole && outcome_.executes;
    if (outcome_.executed_before) outcome_.execution.device = device_->device;
    if (whole || (outcome_.executes && covered({}))) outcome_.coverage = Coverage::found;
    return whole;
  }

  void compile(Toolchain& toolchain) {
    const std::int64_t before = util::resident_bytes();
    ObservedCompiler compiler(*toolchain.compiler, display_);
    const auto progress = [this](const warmup::Step& step) { display_.finish(finish_of(step.outcome)); };
    warmup::Sharing sharing;
    sharing.waits = [this](std::int64_t holder) {
      if (!display_.wait(holder) || holder == 0 || options_.quiet) return;
      note(waiting_text(holder) + ", which compiles a kernel of this plan");
    };
    display_.begin(Phase::compiling, static_cast<std::int64_t>(task_.plan.kernels.size()));
    outcome_.report = warmup::warm(task_.plan, compiler, &*cabinet_, task_.jobs.count, progress, &stop_, sharing);
    display_.end_phase();
    outcome_.memory = host_memory(before, outcome_.report, task_.jobs.count);
  }

  void execute_all(Toolchain& toolchain) {
    ObservedCompiler compiler(*toolchain.compiler, display_);
    const warmup::Report& report = outcome_.report;
    outcome_.execution = report.no_room
                             ? execute_nothing(task_.plan, compiler, options_.execution, report.persist_problem)
                             : execute(task_.plan, compiler, *cabinet_, options_.execution, display_, stop_);
    // The kernels that check are stored, too, and may be those that are too many.
    warmup::look_for_gone(outcome_.report, *cabinet_);
    if (!complete(outcome_.report)) outcome_.coverage = Coverage::none;
    if (device_ && outcome_.execution.executed == static_cast<std::int64_t>(outcome_.kernels)) {
      record(toolchain.compiler->version(), *device_);
    }
  }

  void record(const std::string& version, const Executed& executed) {
    const auto subject = warmup::subject_of(task_.request.plan, version, executed);
    const auto recorded = warmup::record_coverage(*cabinet_, task_.plan, subject, outcome_.report);
    if (recorded && *recorded) outcome_.coverage = Coverage::recorded;
    if (recorded) return;
    outcome_.coverage_problem = recorded.error().message;
    if (outcome_.coverage == Coverage::none && hides_records()) outcome_.coverage = Coverage::unknown;
  }

  // Whether there is an index, in which an earlier run may have recorded this, and it cannot be read.
  bool hides_records() {
    std::error_code ignored;
    const auto index = cache::Layout{cabinet_->root()}.index();
    return std::filesystem::is_regular_file(index, ignored) && !cabinet_->coverage();
  }

  // The last word of the progress file. `said`: the report was printed.
  [[nodiscard]] LastWord last_word(bool said) const {
    const warmup::Report& report = outcome_.report;
    const warmup::ExecutionReport& execution = outcome_.execution;
    if (!report.remaining.empty()) {
      const std::string left = count_text(static_cast<std::int64_t>(report.remaining.size()), "kernel") + " not begun";
      if (report.no_room) return {ProgressState::failed, left + ": " + report.persist_problem};
      return {ProgressState::interrupted, left};
    }
    if (execution.interrupted) return {ProgressState::interrupted, "not every kernel was executed"};
    if (!report.failed.empty()) {
      return {ProgressState::failed, fmt::format("{} failed; the first: {}",
                                                 count_text(static_cast<std::int64_t>(report.failed.size()), "kernel"),
                                                 report.failed.front().error.message)};
    }
    if (!report.persist_problem.empty()) return {ProgressState::failed, report.persist_problem};
    if (!execution_complete(execution, options_.execution)) {
      const auto& notes = execution.failed.empty() ? execution.not_executed : execution.failed;
      return {ProgressState::failed, notes.front().reason};
    }
    if (!said) return {ProgressState::failed, "standard output could not be written"};
    return {ProgressState::done, {}};
  }

  int say_found() {
    display_.found(static_cast<std::int64_t>(outcome_.kernels));
    return say();
  }

  int fail_with(const Error& error) {
    tell_remarks();
    return give_up(error, options_, exit_failed, display_);
  }

  void tell_remarks() {
    if (cabinet_) outcome_.damaged = cabinet_->set_aside();
    if (!options_.quiet) remark(outcome_);
  }

  int say() {
    outcome_.seconds = util::seconds_since(begin_);
    explain(outcome_.report);
    explain_execution(outcome_.execution);
    tell_remarks();
    if (options_.json) {
      print_object(warmup_object(outcome_));
    } else {
      print(warmup_text(outcome_));
    }
    const LastWord word = last_word(flush_output());
    display_.end(word.state, word.message);
    leave_hung_device(outcome_.execution);
    const bool done = complete(outcome_.report) && execution_complete(outcome_.execution, options_.execution);
    return done ? exit_done : exit_failed;
  }

  const util::Moment begin_ = util::now();
  const WarmupOptions& options_;
  const Task& task_;
  const std::atomic<bool>& stop_;
  ProgressDisplay& display_;
  Expected<warmup::Executed> device_;  // with --execute: where kernels are executed
  Expected<cache::Cabinet> cabinet_;
  WarmupOutcome outcome_;
};

int run(const WarmupOptions& options, const std::atomic<bool>& stop) {
  if (const auto apart = check_progress_file({options.progress_file, options.cache, options.request.model}); !apart) {
    return report_error(apart.error(), options.json, exit_usage);
  }
  ProgressDisplay display(progress_style(options.quiet), options.progress_file);
  const auto task = understand(options);
  if (!task) return give_up(task.error(), options, exit_usage, display);
  if (!options.quiet) {
    if (!task->request.note.empty()) note(task->request.note);
    tell_jobs(task->jobs, task->rooms);
  }
  share_one_arena(task->jobs);
  return Warmup(options, *task, stop, display).run();
}

int run_watched(const WarmupOptions& options) {
  ignore_signal(SIGPIPE);  // progress that nobody reads any more must not end the work
  const SignalWatch watch(FirstSignal::asks);
  const int exit_code = run(options, watch.stop_requested());
  flush_output();  // while a second signal still ends a write that waits; main says so if it failed
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
      ->add_option(
          "--jobs", options->jobs,
          "Compile threads; auto: the cores that this process may use, fewer where memory is short, none where "
          "it does not hold one")
      ->type_name("N|auto")
      ->capture_default_str();
  add_execution_options(*command, options->execution);
  command
      ->add_option("--progress-file", options->progress_file,
                   "Keep a JSON object there that says how far it is, with a heartbeat for a watchdog")
      ->type_name("FILE")
      ->check([](const std::string& text) { return text.empty() ? "the name of the file is empty" : ""; }, "");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->add_flag("--quiet", options->quiet, "No progress, and no notes but those of trouble");
  command->footer(std::string(warmup_example) + types_help + warmup_help + warmup_fields_help + progress_fields_help +
                  exit_codes_help);
  command->callback([options, &exit_code] { exit_code = run_watched(*options); });
}

void tell_refused_warmup(const WarmupPaths& paths, const std::string& message) {
  if (!check_progress_file(paths)) return;
  ProgressDisplay(ProgressStyle::none, paths.progress_file).end(ProgressState::failed, message);
}

}  // namespace cubinet::tools
