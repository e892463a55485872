// cubinet warmup: compiles the kernels of a plan that the cabinet lacks, and executes them on request.
#include <malloc.h>

#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cubinet/cubinet.hpp"
#include "tools/command_line.hpp"
#include "tools/output.hpp"
#include "tools/progress.hpp"
#include "tools/request.hpp"
#include "tools/signals.hpp"
#include "tools/toolchain.hpp"
#include "tools/warmup_report.hpp"
#include "util/machine.hpp"
#include "util/text.hpp"
#include "warmup/campaign/campaign.hpp"

namespace cubinet::tools {
namespace {

struct WarmupOptions {
  RequestOptions request;
  warmup::ExecutionRequest execution;
  std::string cache;
  std::string jobs = "auto";
  std::string progress_file;
  bool json = false;
  bool quiet = false;
};

constexpr const char* warmup_example =
    "Example:\n"
    "  cubinet warmup --model config.json --ep 8 --cache /opt/kernels\n"
    "  cubinet warmup --model config.json --sglang \"--tp 8 --ep 8\" --cache /opt/kernels\n"
    "  cubinet warmup --model config.json --ep 8 --dtype bf16,fp8\n"
    "  cubinet warmup --model config.json --ep 8 --execute --memory-budget 2GiB\n";

constexpr const char* warmup_help =
    "Needs NVRTC, but no GPU and no driver. On SIGINT, SIGTERM or SIGHUP the running compilations finish,\n"
    "and the report says what remains; a second signal ends the command at once. A later run compiles only\n"
    "the rest. If the cabinet has no more room, no further compilation starts; exit code 1.\n"
    "Several warmups of one cabinet share the work. A complete run is recorded; a later run that needs no\n"
    "more checks that all kernels are still intact, and does not open NVRTC. Kernels of a compiler that\n"
    "this build was not tested with are compiled again if the NVRTC here is an accepted one; engines use\n"
    "them until then.\n"
    "With --execute every kernel then runs on the first GPU that this process sees, on random operands as\n"
    "large as the budget allows, and its result is compared with a reference. A kernel that does not fit\n"
    "into the budget or is for another GPU is `compiled, not executed`, as are all of them without a GPU;\n"
    "this is exit code 1 only with --strict. A wrong result, or a driver that is too old for a kernel, is\n"
    "always exit code 1. The verification kernels are stored in the cabinet, too.\n";

constexpr int most_jobs = 1024;

std::string room_text(const util::MemoryRoom& room) {
  return fmt::format("{} of memory are left by {}", util::format_byte_size(room.bytes), room.limit);
}

// A note if memory is too small for the given number of jobs, which is used all the same.
void note_given_jobs(const jit::Jobs& jobs, const std::vector<util::MemoryRoom>& rooms) {
  constexpr const char* risk = "kernels may fail for lack of memory";
  const jit::Jobs held = jit::choose_jobs(jobs.count, rooms);
  if (const auto room = jit::check_memory(rooms); !room) {
    note(fmt::format("{}; continuing because of --jobs: {}", room.error().message, risk));
  } else if (held.count < jobs.count) {
    note(fmt::format("{} compile threads because of --jobs, although {}, enough for {}: {}", jobs.count,
                     room_text(held.tightest), held.count, risk));
  }
}

// Parses the value of --jobs; `rooms` limits auto. invalid_argument if it is neither auto nor a number of threads.
Expected<jit::Jobs> parse_jobs(const std::string& text, const std::vector<util::MemoryRoom>& rooms) {
  if (text == "auto") return jit::choose_jobs(util::usable_cores(), rooms);
  const auto jobs = parse_number(text);
  if (jobs && *jobs >= 1 && *jobs <= most_jobs) {
    return jit::Jobs{static_cast<int>(*jobs), jit::JobsReason::given, {}};
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("--jobs: '{}' is neither auto nor a whole number from 1 to {}", text, most_jobs));
}

// A note if memory is too small for one thread per core, or for the given number.
void note_jobs(const jit::Jobs& jobs, const std::vector<util::MemoryRoom>& rooms) {
  if (jobs.reason == jit::JobsReason::given) return note_given_jobs(jobs, rooms);
  if (jobs.reason != jit::JobsReason::memory || !jit::check_memory(rooms)) return;
  note(fmt::format("{} compile threads, fewer than there are cores: {}; --jobs N overrides this", jobs.count,
                   room_text(jobs.tightest)));
}

// Adds --execute, --memory-budget and --strict.
void add_execution_options(Command command, warmup::ExecutionRequest& request) {
  const Option execute =
      command.flag("--execute", request.execute, "Run every kernel on this machine's GPU and check its result");
  const auto parse = [](const std::string& text) -> Expected<std::int64_t> {
    auto bytes = util::parse_byte_size(text);
    if (!bytes || *bytes > 0) return bytes;
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("'{}' leaves no memory: give a size above 0, or omit the option for half of the free memory",
                    text));
  };
  add_parsed(command, "--memory-budget", request.budget, parse,
             "Device memory for --execute, as 64MiB or 2GiB (default: half of the free memory)")
      .type_name("SIZE")
      .needs(execute);
  command.flag("--strict", request.strict, "Exit code 1 if a kernel was not executed").needs(execute);
}

// With one job memory is short: an arena of 64 MiB for each thread that allocates, such as the progress threads, would
// take most of it.
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

// Refuses a progress file that would replace a part of the cabinet, an input file, or a file of another program. A
// progress file that another warmup updates is accepted: the display does not write it.
Expected<void> check_progress_file(const WarmupPaths& paths) {
  if (paths.progress_file.empty()) return {};
  if (const auto root = cache_root(paths.cache)) {
    if (auto outside = check_outside("--progress-file", paths.progress_file, *root); !outside) return outside;
  }
  if (auto apart = check_apart("--progress-file", paths.progress_file, "--model", paths.model); !apart) return apart;
  if (auto apart = check_apart("--progress-file", paths.progress_file, "--from", paths.from); !apart) return apart;
  const auto there = read_progress(paths.progress_file);
  if (there) return {};
  return fail(ErrorCode::invalid_argument, "--progress-file: " + there.error().message);
}

// The campaign that the command line asks for. Errors are usage errors.
Expected<warmup::Campaign> campaign_of(const WarmupOptions& options) {
  auto rooms = util::memory_rooms();
  auto jobs = parse_jobs(options.jobs, rooms);
  if (!jobs) return propagate(jobs);
  auto request = resolve(options.request, options.cache);
  if (!request) return propagate(request);
  auto plan = warmup::make_plan(request->plan);
  if (!plan) return propagate(plan);
  auto root = cache_root(options.cache);
  if (!root) return propagate(root);
  const auto limits = environment_limits();
  if (!limits) return propagate(limits);
  return warmup::Campaign{.request = std::move(request->plan),
                          .plan = std::move(*plan),
                          .derivation = std::move(request->derivation),
                          .notes = std::move(request->notes),
                          .root = std::move(*root),
                          .limits = *limits,
                          .nvrtc_folders = ServiceOptions::from_environment().nvrtc_folders,
                          .rooms = std::move(rooms),
                          .jobs = std::move(*jobs),
                          .execution = options.execution};
}

// Notes about the opened NVRTC: its remark, and that it is not the one which the environment names.
void note_toolchain(const Toolchain& toolchain) {
  if (const std::string remark = toolchain.compiler->remark(); !remark.empty()) note(remark);
  const std::string over = passed_over(toolchain);
  if (!over.empty()) note(fmt::format("{}; compiling with {}", over, location_of(toolchain).path));
}

// Ends the command with an error before any work.
int give_up(const Error& error, const WarmupOptions& options, ExitCode exit_code, ProgressDisplay& display) {
  display.end(ProgressState::failed, error.message);
  return report_error(error, options.json, exit_code);
}

// Shows a campaign on the display, with notes unless --quiet was given.
class DisplayObserver final : public warmup::Observer {
 public:
  DisplayObserver(ProgressDisplay& display, bool quiet) : display_(display), quiet_(quiet) {}
  void opened(const Toolchain& toolchain) override {
    if (!quiet_) note_toolchain(toolchain);
  }
  void begin(Phase phase, std::int64_t total) override { display_.begin(phase, total); }
  void end(Phase /*phase*/) override { display_.end_phase(); }
  void found(std::int64_t total) override { display_.found(total); }
  void compiled(const warmup::Step& step) override { display_.finish(finish_of(step.outcome)); }
  void executed(const warmup::ExecutionStep& step) override { display_.finish(finish_of(step.outcome)); }
  std::shared_ptr<void> compiling(const jit::KernelSpec& spec) override {
    return std::make_shared<ProgressDisplay::InWork>(display_, jit::describe(spec));
  }
  void waits(std::int64_t holder) override {
    if (!display_.wait(holder) || holder == 0 || quiet_) return;
    note(waiting_text(holder) + ", which compiles a kernel of this plan");
  }

 private:
  ProgressDisplay& display_;
  bool quiet_;
};

// Prints the report and writes the final state to the progress file. Output that cannot be written is a failure, too.
int print_report(const warmup::CampaignReport& report, const WarmupOptions& options, ProgressDisplay& display) {
  explain(report.report);
  explain_execution(report.execution);
  if (!options.quiet) remark(report);
  if (options.json) {
    print_json(warmup::campaign_json(report));
  } else {
    print(warmup_text(report));
  }
  const bool said = flush_output();
  const auto shortfall = warmup::shortfall_of(report);
  if (shortfall) {
    display.end(shortfall->interrupted ? ProgressState::interrupted : ProgressState::failed, shortfall->message);
  } else {
    display.end(said ? ProgressState::done : ProgressState::failed, said ? "" : "standard output could not be written");
  }
  leave_hung_device(report.execution);
  return shortfall ? exit_failed : exit_done;
}

int run(const WarmupOptions& options, const std::atomic<bool>& stop) {
  if (const auto apart = check_progress_file(
          {options.progress_file, options.cache, options.request.model, options.request.recorded_from});
      !apart) {
    return report_error(apart.error(), options.json, exit_usage);
  }
  ProgressDisplay display(progress_style(options.quiet), options.progress_file);
  const auto campaign = campaign_of(options);
  if (!campaign) return give_up(campaign.error(), options, exit_usage, display);
  if (!options.quiet) {
    for (const std::string& text : campaign->notes) note(text);
    note_jobs(campaign->jobs, campaign->rooms);
    if (!options.json) print(warmup::derivation_text(campaign->derivation));
  }
  share_one_arena(campaign->jobs);
  DisplayObserver observer(display, options.quiet);
  const auto report = warmup::run(*campaign, observer, stop);
  if (!report.refused) return print_report(report, options, display);
  if (!options.quiet) remark(report);
  return give_up(*report.refused, options, exit_failed, display);
}

int run_watched(const WarmupOptions& options) {
  ignore_signal(SIGPIPE);  // a closed standard error must not end the work
  const SignalWatch watch(FirstSignal::asks);
  const int exit_code = run(options, watch.stop_requested());
  flush_output();  // here, where a second signal can still end a blocked write; main() reports a failure
  return exit_code;
}

}  // namespace

void add_warmup(Command root) {
  const Command command =
      root.subcommand("warmup", "Compile all kernels of the plan into the cabinet, and execute them on request");
  const auto options = std::make_shared<WarmupOptions>();
  add_request_options(command, options->request);
  add_cache_option(command, options->cache);
  command
      .option("--jobs", options->jobs,
              "Compile threads; auto: one per usable core, fewer if memory is short; an error if it is too small "
              "for one")
      .type_name("N|auto")
      .shown_default(options->jobs);
  add_execution_options(command, options->execution);
  command.file("--progress-file", options->progress_file,
               "Write progress to this file as a JSON object, with a heartbeat for a watchdog");
  command.flag("--json", options->json, "Print one JSON object");
  command.flag("--quiet", options->quiet, "No progress, and no notes but those about failures");
  command.footer(std::string(warmup_example) + types_help + warmup_help + warmup_fields_help + progress_fields_help +
                 exit_codes_help);
  command.action([options] { return run_watched(*options); });
}

void tell_failed_warmup(const WarmupPaths& paths, const std::string& message) {
  if (!check_progress_file(paths)) return;
  ProgressDisplay(ProgressStyle::none, paths.progress_file).end(ProgressState::failed, message);
}

}  // namespace cubinet::tools
