// cubinet warmup: compile what the plan names and the cabinet lacks; on request, execute it.
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
#include "warmup/campaign/campaign_json.hpp"

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
    "Needs NVRTC, but no GPU and no driver. SIGINT, SIGTERM or SIGHUP lets the kernels in work finish\n"
    "and reports what is left; a second one ends the command at once. A later run compiles the rest only.\n"
    "Where the cabinet has no more room, no further kernel is begun either: that is exit code 1.\n"
    "Several at once on one cabinet share the work. A run that did all of its plan is recorded, and a\n"
    "later one that asks for no more looks whether all of it is still whole, and opens no NVRTC.\n"
    "Kernels of a compiler that this build was not tested with are made again, where the NVRTC here is\n"
    "one that it was tested with; engines take them until then.\n"
    "With --execute every kernel is run afterwards on the first GPU that this process sees, on random\n"
    "operands as large as the budget allows, and compared with a reference. Where a kernel does not fit,\n"
    "the GPU is another one or there is none, it is compiled, not executed: that is exit code 1 with\n"
    "--strict alone. A wrong result, or a driver that is too old for a kernel, is exit code 1 in every\n"
    "case. The kernels that check are kept in the cabinet, too.\n";

constexpr int most_jobs = 1024;

std::string room_text(const util::MemoryRoom& room) {
  return fmt::format("{} of memory are left by {}", util::format_byte_size(room.bytes), room.limit);
}

// Of jobs that were given and memory does not hold: whoever gave them may know better.
void tell_given_jobs(const jit::Jobs& jobs, const std::vector<util::MemoryRoom>& rooms) {
  constexpr const char* risk = "kernels may fail for want of memory";
  const jit::Jobs held = jit::choose_jobs(jobs.count, rooms);
  if (const auto room = jit::check_memory(rooms); !room) {
    note(fmt::format("{}; tried all the same, as --jobs says: {}", room.error().message, risk));
  } else if (held.count < jobs.count) {
    note(fmt::format("{} at a time, as --jobs says, though {}, enough for {}: {}", jobs.count, room_text(held.tightest),
                     held.count, risk));
  }
}

// What `text`, the option's value, comes to where `rooms` are left. invalid_argument when it is neither auto nor a
// number of threads.
Expected<jit::Jobs> parse_jobs(const std::string& text, const std::vector<util::MemoryRoom>& rooms) {
  if (text == "auto") return jit::choose_jobs(util::usable_cores(), rooms);
  const auto jobs = parse_number(text);
  if (jobs && *jobs >= 1 && *jobs <= most_jobs) {
    return jit::Jobs{static_cast<int>(*jobs), jit::JobsReason::given, {}};
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("--jobs: '{}' is neither auto nor a whole number from 1 to {}", text, most_jobs));
}

// A note where memory made them fewer, or does not hold those that were given.
void tell_jobs(const jit::Jobs& jobs, const std::vector<util::MemoryRoom>& rooms) {
  if (jobs.reason == jit::JobsReason::given) return tell_given_jobs(jobs, rooms);
  if (jobs.reason != jit::JobsReason::memory || !jit::check_memory(rooms)) return;
  note(fmt::format("{} at a time, fewer than there are cores: {}; --jobs N overrules that", jobs.count,
                   room_text(jobs.tightest)));
}

// Adds --execute, --memory-budget and --strict.
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

// Before anything is written there: no part of the cabinet may be replaced, nor what is read, nor what others made.
// A file that another warmup keeps is no mistake that costs the work: the display leaves it alone.
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

// What is to be done, once the command line is understood.
Expected<warmup::Campaign> understand(const WarmupOptions& options) {
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

// That the environment names an NVRTC, and another one compiles; and where it does.
void tell_toolchain(const Toolchain& toolchain) {
  if (const std::string remark = toolchain.compiler->remark(); !remark.empty()) note(remark);
  const std::string over = passed_over(toolchain);
  if (!over.empty()) note(fmt::format("{}; this is compiled by {}", over, location_of(toolchain).path));
}

// The end of a command that does nothing.
int give_up(const Error& error, const WarmupOptions& options, ExitCode exit_code, ProgressDisplay& display) {
  display.end(ProgressState::failed, error.message);
  return report_error(error, options.json, exit_code);
}

// A campaign on the display, with notes unless they are not wanted.
class Shown final : public warmup::Observer {
 public:
  Shown(ProgressDisplay& display, bool quiet) : display_(display), quiet_(quiet) {}
  void opened(const Toolchain& toolchain) override {
    if (!quiet_) tell_toolchain(toolchain);
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

// Says what was done, as far as it is in the report. The last word of the progress file: an output that cannot be
// written is a failure, too.
int say(const warmup::CampaignReport& report, const WarmupOptions& options, ProgressDisplay& display) {
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
  const auto campaign = understand(options);
  if (!campaign) return give_up(campaign.error(), options, exit_usage, display);
  if (!options.quiet) {
    for (const std::string& text : campaign->notes) note(text);
    tell_jobs(campaign->jobs, campaign->rooms);
    if (!options.json) print(warmup::derivation_text(campaign->derivation));
  }
  share_one_arena(campaign->jobs);
  Shown shown(display, options.quiet);
  const auto report = warmup::run(*campaign, shown, stop);
  if (!report.refused) return say(report, options, display);
  if (!options.quiet) remark(report);
  return give_up(*report.refused, options, exit_failed, display);
}

int run_watched(const WarmupOptions& options) {
  ignore_signal(SIGPIPE);  // progress that nobody reads any more must not end the work
  const SignalWatch watch(FirstSignal::asks);
  const int exit_code = run(options, watch.stop_requested());
  flush_output();  // while a second signal still ends a write that waits; main says so if it failed
  return exit_code;
}

}  // namespace

void add_warmup(Command root) {
  const Command command =
      root.subcommand("warmup", "Compile every kernel of the plan into the cabinet, and execute it on request");
  const auto options = std::make_shared<WarmupOptions>();
  add_request_options(command, options->request);
  add_cache_option(command, options->cache);
  command
      .option("--jobs", options->jobs,
              "Compile threads; auto: the cores that this process may use, fewer where memory is short, none where "
              "it does not hold one")
      .type_name("N|auto")
      .shown_default(options->jobs);
  add_execution_options(command, options->execution);
  command.file("--progress-file", options->progress_file,
               "Keep a JSON object there that says how far it is, with a heartbeat for a watchdog");
  command.flag("--json", options->json, "Print one JSON object");
  command.flag("--quiet", options->quiet, "No progress, and no notes but those of trouble");
  command.footer(std::string(warmup_example) + types_help + warmup_help + warmup_fields_help + progress_fields_help +
                 exit_codes_help);
  command.action([options] { return run_watched(*options); });
}

void tell_failed_warmup(const WarmupPaths& paths, const std::string& message) {
  if (!check_progress_file(paths)) return;
  ProgressDisplay(ProgressStyle::none, paths.progress_file).end(ProgressState::failed, message);
}

}  // namespace cubinet::tools
