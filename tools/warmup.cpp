// cubinet warmup: compile what the plan names and the cabinet lacks.
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tools/number.hpp"
#include "tools/output.hpp"
#include "tools/progress.hpp"
#include "tools/request.hpp"
#include "tools/signals.hpp"
#include "tools/table.hpp"
#include "tools/toolchain.hpp"
#include "util/cores.hpp"
#include "warmup/coverage.hpp"
#include "warmup/runner.hpp"

namespace cubinet::tools {
namespace {

struct WarmupOptions {
  RequestOptions request;
  std::string cache;
  std::string jobs = "auto";
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
    "Several at once on one cabinet share the work. A run that did all of its plan is recorded, and a\n"
    "later one that asks for no more looks whether all of it is still whole, and opens no NVRTC.\n"
    "JSON: {unique_kernels, compiled, stored, hits, shared, failed, failures[] {key, family, code,\n"
    "message, log}, remaining, executed, not_executed[], launches, seconds, peak_device_bytes,\n"
    "persist (on|readonly|off), persist_problem, coverage (found|recorded|none), cache, jobs}; stored\n"
    "says how many of compiled the cabinet holds now, shared how many of hits another process made\n"
    "meanwhile. executed, not_executed, launches and peak_device_bytes are there for tools that\n"
    "read them: compiling uses no device, so they are 0 and empty.";

// Whether the plan can be carried out here: a cabinet that cannot be written, or a missing NVRTC, is no obstacle as
// long as nothing is to be compiled.
Expected<void> check_ready(const warmup::Plan& plan, const Toolchain& toolchain, const cache::Cabinet& cabinet) {
  const bool writable = cabinet.persistence() == cache::Persistence::on;
  if (writable && !toolchain.missing) return {};
  const std::int64_t missing = warmup::count_missing(plan, toolchain.compiler->version(), cabinet);
  if (missing == 0) return {};
  if (toolchain.missing) return tl::make_unexpected(*toolchain.missing);
  return fail(
      ErrorCode::cache_unusable,
      fmt::format("{} cannot be written, and {} of {} kernels are not in it; nothing was compiled ({}); make it "
                  "writable, or name another folder with --cache or CUBINET_CACHE_DIR",
                  cabinet.root().string(), missing, plan.kernels.size(), cabinet.readonly_reason()));
}

Json failure_object(const warmup::Failure& failure) {
  return Json{{"key", failure.key},
              {"family", failure.family},
              {"code", code_name(failure.error.code)},
              {"message", failure.error.message},
              {"log", failure.error.detail}};
}

// Of a record that the cabinet is complete for the request.
enum class Coverage { found, recorded, none };

const char* coverage_name(Coverage coverage) {
  if (coverage == Coverage::found) return "found";
  return coverage == Coverage::recorded ? "recorded" : "none";
}

Json report_object(const warmup::Report& report, std::size_t kernels, const std::string& root, int jobs,
                   Coverage coverage) {
  Json failures = Json::array();
  for (const warmup::Failure& failure : report.failed) failures.push_back(failure_object(failure));
  return Json{{"unique_kernels", kernels},
              {"compiled", report.compiled},
              {"stored", report.stored},
              {"hits", report.hits},
              {"shared", report.shared},
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
              {"coverage", coverage_name(coverage)},
              {"cache", root},
              {"jobs", jobs}};
}

void print_report(const warmup::Report& report, std::size_t kernels, const std::string& root) {
  std::string text = fmt::format("{} kernels: {} compiled", kernels, report.compiled);
  if (report.stored != report.compiled) text += fmt::format(" ({} of them stored)", report.stored);
  text += fmt::format(", {} were there", report.hits);
  if (report.shared > 0) text += fmt::format(" ({} of them made by another process meanwhile)", report.shared);
  text += fmt::format(", {} failed", report.failed.size());
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
  warmup::Sharing sharing;
  if (!quiet) {
    sharing.waits = [&display](std::int64_t holder) {
      display.clear();
      note(fmt::format("waiting for process {}, which compiles a kernel of this plan", holder));
    };
  }
  display.begin(static_cast<std::int64_t>(plan.kernels.size()));
  warmup::Report report = warmup::warm(plan, *toolchain.compiler, &cabinet, jobs, progress, &stop, sharing);
  display.clear();
  return report;
}

// What a run would report on a cabinet that is known to be complete for the request.
std::optional<warmup::Report> find_covered(const warmup::PlanRequest& request, const warmup::Plan& plan,
                                           const std::string& nvrtc_version, cache::Cabinet& cabinet) {
  return warmup::warm_from_coverage(cabinet, plan, warmup::subject_of(request, nvrtc_version));
}

int say(const WarmupOptions& options, const warmup::Report& report, const warmup::Plan& plan,
        const cache::Cabinet& cabinet, int jobs, Coverage coverage) {
  explain(report);
  const std::string root = cabinet.root().string();
  if (options.json) {
    print_object(report_object(report, plan.kernels.size(), root, jobs, coverage));
  } else {
    print_report(report, plan.kernels.size(), root);
  }
  return complete(report) ? exit_done : exit_failed;
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

  // Under the version that the build expects, before anything is opened that takes time.
  const std::string expected = jit::configured_nvrtc_version();
  auto cabinet = cache::Cabinet::open(*root, false);
  if (cabinet) {
    if (const auto covered = find_covered(request->plan, *plan, expected, *cabinet)) {
      return say(options, *covered, *plan, *cabinet, *jobs, Coverage::found);
    }
  }
  Toolchain toolchain = open_toolchain();
  if (!cabinet) cabinet = cache::Cabinet::open(*root, !toolchain.missing);
  if (!cabinet) return report_error(toolchain.missing.value_or(cabinet.error()), options.json, exit_failed);
  if (const auto ready = check_ready(*plan, toolchain, *cabinet); !ready) {
    return report_error(ready.error(), options.json, exit_failed);
  }
  const std::string version = toolchain.compiler->version();
  if (version != expected) {
    if (const auto covered = find_covered(request->plan, *plan, version, *cabinet)) {
      return say(options, *covered, *plan, *cabinet, *jobs, Coverage::found);
    }
  }
  const warmup::Report report = compile(*plan, toolchain, *cabinet, *jobs, options.quiet, stop);
  const bool recorded = warmup::record_coverage(*cabinet, *plan, warmup::subject_of(request->plan, version), report);
  return say(options, report, *plan, *cabinet, *jobs, recorded ? Coverage::recorded : Coverage::none);
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
  command->add_option("--jobs", options->jobs, "Compile threads; auto: the cores this process may use")
      ->type_name("N|auto")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print one JSON object");
  command->add_flag("--quiet", options->quiet, "No progress and no notes");
  command->footer(std::string(warmup_example) + types_help + warmup_help + "\n" + exit_codes_help);
  command->callback([options, &exit_code] { exit_code = run_watched(*options); });
}

}  // namespace cubinet::tools
