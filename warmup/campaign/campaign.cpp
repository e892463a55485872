#include "warmup/campaign/campaign.hpp"

#include <algorithm>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cache/layout.hpp"
#include "cache/maintenance.hpp"
#include "jit/accepted_compilers.hpp"
#include "jit/driver_limit.hpp"
#include "util/clock.hpp"
#include "util/text.hpp"
#include "warmup/campaign/coverage.hpp"
#include "warmup/campaign/local_device.hpp"

namespace cubinet::warmup {
namespace {

// "3 of 7 kernels are not in /opt/kernels", and why they cannot be read if that is the reason.
std::string missing_text(const Missing& missing, std::size_t kernels, const std::string& root) {
  const std::string text = fmt::format("{} of {} kernels are not in {}", missing.kernels, kernels, root);
  return missing.unreadable.empty() ? text : fmt::format("{}, or cannot be read ({})", text, missing.unreadable);
}

// The error that kernels are missing and there is no NVRTC to compile them.
tl::unexpected<Error> needs_nvrtc(const std::string& missing, Error reason) {
  reason.message = fmt::format("NVRTC is needed, since {}: {}", missing, reason.message);
  return fail(std::move(reason));
}

// Checks that the plan can be carried out. A cabinet that cannot be written, or a missing NVRTC, is an error only if
// kernels have to be compiled.
Expected<void> check_ready(const Campaign& campaign, const Toolchain& toolchain, const cache::Cabinet& cabinet) {
  const bool writable = cabinet.persistence() == cache::Persistence::on;
  if (writable && !toolchain.missing) return {};
  const auto missing = look_for_missing(campaign.plan, cabinet);
  if (missing.kernels == 0) return {};
  const std::string text = missing_text(missing, campaign.plan.kernels.size(), cabinet.root().string());
  if (toolchain.missing) return needs_nvrtc(text, *toolchain.missing);
  return fail(ErrorCode::cache_unusable,
              fmt::format("{}, which cannot be written ({}); nothing was compiled; make it readable and writable, or "
                          "name another folder with {} or CUBINET_CACHE_DIR",
                          text, cabinet.readonly_reason(), campaign.names.cache));
}

// Peak memory of this process and of the compile workers. `before`: the memory of this process before compiling.
HostMemory host_memory(std::int64_t before, const jit::Compiler& compiler, const Report& report, int jobs) {
  const std::int64_t peak = util::peak_resident_bytes() + compiler.peak_bytes();
  const auto worked = report.compiled + static_cast<std::int64_t>(report.failed.size());
  const std::int64_t threads = std::min<std::int64_t>(jobs, worked);
  return {peak, threads > 0 ? std::max<std::int64_t>(peak - before, 0) / threads : 0};
}

// Tells the observer about every compilation.
class ObservedCompiler final : public jit::Compiler {
 public:
  ObservedCompiler(jit::Compiler& compiler, Observer& observer) : compiler_(compiler), observer_(observer) {}
  [[nodiscard]] std::string version() const override { return compiler_.version(); }
  Expected<jit::CompiledKernel> compile(const jit::KernelSpec& spec) override {
    const std::shared_ptr<void> work = observer_.compiling(spec);
    return compiler_.compile(spec);
  }

 private:
  jit::Compiler& compiler_;
  Observer& observer_;
};

// Whether there is an index that cannot be read, so that it may contain a coverage record.
bool hides_records(cache::Cabinet& cabinet) {
  std::error_code ignored;
  const auto index = cache::Layout{cabinet.root()}.index();
  return std::filesystem::is_regular_file(index, ignored) && !cache::Maintenance(cabinet).coverage();
}

// One campaign, from reading the coverage records to writing one.
class CampaignRun {
 public:
  CampaignRun(const Campaign& campaign, Observer& observer, const std::atomic<bool>& stop)
      : campaign_(campaign),
        observer_(observer),
        stop_(stop),
        device_(campaign.execution.execute ? identify_device(campaign.execution.device)
                                           : fail(ErrorCode::driver_missing, "")),
        cabinet_(cache::Cabinet::open(campaign.root, false, cabinet_options(0))) {
    report_.kernels = campaign.plan.kernels.size();
    report_.derivation = campaign.derivation;
    report_.notes = campaign.notes;
    report_.jobs = campaign.jobs;
    report_.asked = campaign.execution;
  }

  CampaignReport run() {
    if (auto done = work(); !done) report_.refused = std::move(done).error();
    if (cabinet_) report_.damaged += cabinet_->set_aside();
    if (cabinet_) report_.root_notice = cabinet_->notice();
    report_.seconds = util::seconds_since(begin_);
    return std::move(report_);
  }

 private:
  using Device = std::optional<Executed>;

  Expected<void> work() {
    // First, because opening NVRTC takes time.
    if (cabinet_ && look_up()) return tell_found();
    Toolchain toolchain = open_toolchain(campaign_.nvrtc_folders, room());
    // If the compiler produces cubins that the driver loads, entries that the driver does not load are compiled again.
    const bool fits = !toolchain.missing && jit::loads(driver_, toolchain.compiler->version());
    const int limit = fits ? driver_ : 0;
    if (cabinet_ && limit != 0) report_.damaged += cabinet_->set_aside();
    if (!cabinet_ || limit != 0) cabinet_ = open_root(toolchain, limit);
    if (!cabinet_) return propagate(cabinet_);
    report_.root = cabinet_->root().string();
    report_.compiler = jit::compiler_name(toolchain.compiler->version());
    observer_.opened(toolchain);
    if (auto ready = check_ready(campaign_, toolchain, *cabinet_); !ready) return ready;
    if (report_.coverage == CoverageState::found) {
      tell_found();
    } else {
      compile(*toolchain.compiler);
      record({});
    }
    if (report_.asked.execute) execute_all(*toolchain.compiler);
    return {};
  }

  Expected<void> tell_found() {
    observer_.found(static_cast<std::int64_t>(report_.kernels));
    return {};
  }

  [[nodiscard]] Expected<void> room() const {
    const bool given = campaign_.jobs.reason == jit::JobsReason::given;
    return given ? Expected<void>() : jit::check_memory(campaign_.rooms);
  }

  // With `driver`, entries that this driver does not load are replaced; see jit::rank.
  [[nodiscard]] cache::CabinetOptions cabinet_options(int driver) const {
    cache::CabinetOptions options;
    options.limits = campaign_.limits;
    options.preference = jit::preference_for(driver);
    return options;
  }

  // Opens the cabinet. Creates it only if there is a compiler that could fill it.
  [[nodiscard]] Expected<cache::Cabinet> open_root(const Toolchain& toolchain, int driver) const {
    auto opened = cache::Cabinet::open(campaign_.root, !toolchain.missing, cabinet_options(driver));
    const bool absent = !opened && opened.error().code == ErrorCode::not_found;
    if (!absent || !toolchain.missing) return opened;
    const Missing all{static_cast<std::int64_t>(report_.kernels), {}};
    return needs_nvrtc(missing_text(all, report_.kernels, campaign_.root), *toolchain.missing);
  }

  // Whether a coverage record shows that everything was done before; the report is filled then. If kernels are to be
  // executed, the record may show it only for the compilation; then report_.coverage is `found` and the result is
  // false.
  bool look_up() {
    const auto covered = [&](const Device& executed) {
      const auto subject = subject_of(campaign_.request, executed);
      auto report = warm_from_coverage(*cabinet_, campaign_.plan, subject);
      if (!report || !jit::loads_all(driver_, report->compilers)) return false;
      report_.report = std::move(*report);
      return true;
    };
    report_.root = cabinet_->root().string();
    const bool executes = report_.asked.execute;
    const bool whole = executes ? device_ && covered(*device_) : covered({});
    report_.executed_before = whole && executes;
    if (report_.executed_before) report_.execution.device = device_->device;
    if (whole || (executes && covered({}))) report_.coverage = CoverageState::found;
    return whole;
  }

  void compile(jit::Compiler& nvrtc) {
    const std::int64_t before = util::resident_bytes();
    const int jobs = campaign_.jobs.count;
    ObservedCompiler compiler(nvrtc, observer_);
    const auto progress = [this](const Step& step) { observer_.compiled(step); };
    Sharing sharing;
    sharing.waits = [this](std::int64_t holder) { observer_.waits(holder); };
    observer_.begin(Phase::compiling, static_cast<std::int64_t>(report_.kernels));
    report_.report = warm(campaign_.plan, compiler, &*cabinet_, jobs, progress, &stop_, sharing);
    observer_.end(Phase::compiling);
    nvrtc.release_resources();
    report_.memory = host_memory(before, nvrtc, report_.report, jobs);
  }

  void execute_all(jit::Compiler& nvrtc) {
    ObservedCompiler compiler(nvrtc, observer_);
    const Report& compilation = report_.report;
    report_.execution = compilation.no_room ? execute_none(compilation.persist_problem) : execute_on_device(compiler);
    // The verification kernels are stored too, and may have evicted kernels of the plan.
    look_for_gone(report_.report, *cabinet_);
    if (!compilation.persist_problem.empty()) report_.coverage = CoverageState::none;
    if (device_ && report_.execution.executed == static_cast<std::int64_t>(report_.kernels)) {
      record(*device_);
    }
  }

  [[nodiscard]] ExecutionReport execute_none(const std::string& reason) const {
    auto report = execute_nothing(campaign_.plan, reason);
    report.budget = campaign_.execution.budget.value_or(0);
    return report;
  }

  // If there is no device, nothing is executed; the driver's error is the reason.
  ExecutionReport execute_on_device(jit::Compiler& compiler) {
    const auto device = jit::open_device(campaign_.execution.device);
    if (!device) return execute_none(device.error().message);
    ExecutionOptions options;
    options.budget = campaign_.execution.budget;
    options.seed = std::random_device{}();
    const auto progress = [this](const ExecutionStep& step) { observer_.executed(step); };
    observer_.begin(Phase::executing, static_cast<std::int64_t>(report_.kernels));
    auto report = execute(campaign_.plan, {*device, compiler, &*cabinet_}, options, progress, &stop_);
    observer_.end(Phase::executing);
    return report;
  }

  void record(const Device& executed) {
    const auto subject = subject_of(campaign_.request, executed);
    const auto recorded = record_coverage(*cabinet_, campaign_.plan, subject, report_.report);
    if (recorded && *recorded) report_.coverage = CoverageState::recorded;
    if (recorded) return;
    report_.coverage_problem = recorded.error().message;
    const bool unknown = report_.coverage == CoverageState::none && hides_records(*cabinet_);
    if (unknown) report_.coverage = CoverageState::unknown;
  }

  const util::Moment begin_ = util::now();
  const Campaign& campaign_;
  Observer& observer_;
  const std::atomic<bool>& stop_;
  const int driver_ = local_driver_limit();
  Expected<Executed> device_;  // the device for execution
  Expected<cache::Cabinet> cabinet_;
  CampaignReport report_;
};

std::int64_t count_of(std::size_t size) { return static_cast<std::int64_t>(size); }

// The shortfall of a run that did not start all kernels. Precondition: report.remaining is not empty.
Shortfall not_begun(const Report& report) {
  const std::string left = util::count_text(count_of(report.remaining.size()), "kernel") + " not begun";
  return report.no_room ? Shortfall{false, left + ": " + report.persist_problem} : Shortfall{true, left};
}

}  // namespace

CampaignReport run(const Campaign& campaign, Observer& observer, const std::atomic<bool>& stop) {
  return CampaignRun(campaign, observer, stop).run();
}

std::optional<Shortfall> shortfall_of(const CampaignReport& report) {
  const Report& compilation = report.report;
  const ExecutionReport& execution = report.execution;
  if (!compilation.remaining.empty()) return not_begun(compilation);
  if (execution.interrupted) return Shortfall{true, "not every kernel was executed"};
  if (!compilation.failed.empty()) {
    return Shortfall{
        false, fmt::format("{} failed; the first: {}", util::count_text(count_of(compilation.failed.size()), "kernel"),
                           compilation.failed.front().error.message)};
  }
  if (!compilation.persist_problem.empty()) return Shortfall{false, compilation.persist_problem};
  if (!execution.failed.empty()) return Shortfall{false, execution.failed.front().reason};
  const bool strict = report.asked.strict && !execution.not_executed.empty();
  return strict ? std::optional(Shortfall{false, execution.not_executed.front().reason}) : std::nullopt;
}

const char* state_of(const KernelNote& note, const Report& compilation) {
  const auto& failed = compilation.failed;
  const auto& remaining = compilation.remaining;
  const bool missing =
      std::any_of(failed.begin(), failed.end(), [&](const Failure& failure) { return failure.key == note.key; });
  const bool not_begun = std::find(remaining.begin(), remaining.end(), note.key) != remaining.end();
  return missing || not_begun ? "not compiled" : "compiled, not executed";
}

}  // namespace cubinet::warmup
