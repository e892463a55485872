#include "warmup/execution/execution.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "jit/loader.hpp"
#include "jit/provide.hpp"
#include "jit/quantization_kernels.hpp"
#include "util/clock.hpp"
#include "util/text.hpp"
#include "warmup/execution/execution_size.hpp"
#include "warmup/execution/executor.hpp"
#include "warmup/execution/quantization_executor.hpp"

namespace cubinet::warmup {
namespace {

// What stream and verification kernels took on an H200 (bench/results). A budget that has no room for them beside the
// tensors must not see them loaded.
constexpr std::int64_t kWorkshopBytes = 2 * device_granule();

constexpr std::uint64_t kSeedsApart = 16;  // more than the executions of a kernel take

// What became of one kernel; the reason is empty where it was executed.
struct Fate {
  ExecutionOutcome outcome = ExecutionOutcome::executed;
  std::string reason;
};

Fate failed(std::string reason) { return {ExecutionOutcome::failed, std::move(reason)}; }
Fate not_executed(std::string reason) { return {ExecutionOutcome::not_executed, std::move(reason)}; }

bool is_quantization(const jit::KernelSpec& spec) { return spec == jit::quantization_spec(spec.architecture); }

bool is_scaled(const PlannedKernel& kernel) { return kernel.uses.front().problem.data_type == DataType::fp8; }

// The fewest bytes of memory in which the kernel can be executed, without its code.
std::int64_t least_charge(const PlannedKernel& kernel) {
  if (is_quantization(kernel.spec)) return charged_bytes(QuantizationExecutor::required_bytes());
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const PlannedUse& use : kernel.uses) least = std::min(least, smallest_charge(use.problem));
  return least;
}

// Of the first use that fits.
std::optional<ExecutionSize> size_for(const PlannedKernel& kernel, std::int64_t available, const jit::Target& target) {
  for (const PlannedUse& use : kernel.uses) {
    auto size = choose_size(use, kernel.spec.config, available, target);
    if (size) return size;
  }
  return std::nullopt;
}

// The cubins that an execution loads; empty where it needs none.
struct Code {
  std::string kernel;
  std::string quantization;
};

// Keeps what a hanging device may still use for the rest of the process: to give it back would wait for ever.
template <class T>
void leave_behind(std::unique_ptr<T> owned) {
  static auto& kept = *new std::vector<std::shared_ptr<void>>;
  kept.push_back(std::move(owned));
}

// What stays on the device for the whole run.
struct Workshop {
  std::shared_ptr<const jit::DeviceContext> device;
  DeviceStream stream;
  VerificationKernels verification;
};

// What the rehearsal of a workshop has on the device.
struct Rehearsal {
  std::shared_ptr<const jit::DeviceContext> device;
  DeviceStream stream;
  DeviceBuffer buffer;
};

// What is on the device for one kernel. Members go in reverse order: tensors before code.
struct Guest {
  std::optional<jit::LoadedKernel> kernel;
  std::optional<jit::QuantizationKernels> quantization;
  std::optional<ExecutorBench> bench;
  std::optional<QuantizationExecutor> quantizer;
  std::unique_ptr<GroupedExecutor> executor;
};

// One run over a plan.
class Run {
 public:
  Run(const Plan& plan, const ExecutionParts& parts, const ExecutionOptions& options, const ExecutionProgress& progress,
      const std::atomic<bool>* stop)
      : plan_(plan), parts_(parts), options_(options), progress_(progress), stop_(stop), seed_(options.seed) {}

  ExecutionReport go() {
    const jit::CurrentContext current(*parts_.device);
    report_.device = parts_.device->info().name;
    report_.budget = options_.budget.value_or(0);
    if (const auto ready = current.status().and_then([&] { return start(); }); !ready) lost_ = ready.error().message;
    for (const PlannedKernel& kernel : plan_.kernels) tell(kernel.spec, book(kernel.spec, visit(kernel)));
    finish();
    return std::move(report_);
  }

 private:
  [[nodiscard]] const jit::Driver& driver() const { return parts_.device->driver(); }

  Expected<void> start() {
    auto watch = DeviceWatch::start(driver(), options_.deadline);
    if (!watch) return propagate(watch);
    watch_ = *watch;
    report_.budget = options_.budget.value_or(default_budget(watch_->free_at_start()));
    return {};
  }

  Fate visit(const PlannedKernel& kernel) {
    if (stop_ != nullptr && stop_->load()) {
      report_.interrupted = true;
      return not_executed("interrupted");
    }
    if (!lost_.empty()) return not_executed(lost_);
    if (const auto runs = jit::check_device(kernel.spec.architecture, parts_.device->info()); !runs) {
      return not_executed(runs.error().message);
    }
    // Nothing is loaded for a kernel that will not fit: that would take memory, too.
    if (auto short_of = shortage(kernel)) return *std::move(short_of);
    if (const auto open = open_workshop(); !open) {
      // The device is of the right architecture: wrong_device is a driver that loads no kernel of the plan either.
      const bool obstacle = watch_->hung() || open.error().code == ErrorCode::wrong_device;
      return lose(obstacle ? failed(open.error().message) : not_executed(open.error().message));
    }
    if (auto short_of = shortage(kernel)) return *std::move(short_of);
    const auto code = code_for(kernel);
    if (!code) return not_executed(code.error().message);
    return host(kernel, *code);
  }

  // FP8 kernels need those of the quantisation beside their own.
  Expected<Code> code_for(const PlannedKernel& kernel) {
    Code code;
    const auto provide = [&](const jit::KernelSpec& spec, std::string& cubin) {
      return jit::provide(spec, parts_.compiler, parts_.cabinet).map([&](jit::Provided provided) {
        cubin = std::move(provided.object.payload);
      });
    };
    Expected<void> done;
    if (!is_quantization(kernel.spec)) done = provide(kernel.spec, code.kernel);
    if (done && is_scaled(kernel)) {
      done = provide(jit::quantization_spec(kernel.spec.architecture), code.quantization);
    }
    return done.map([&] { return std::move(code); });
  }

  // Why not even the smallest execution is within the budget; none where it is.
  std::optional<Fate> shortage(const PlannedKernel& kernel) {
    const auto used = watch_->used();
    if (!used) return lose(not_executed(used.error().message));
    const std::int64_t smallest = sum(least_charge(kernel), workshop_ ? 0 : kWorkshopBytes);
    if (smallest <= available(*used)) return std::nullopt;
    return not_executed(fmt::format("needs at least {} of device memory, the budget is {}{}",
                                    util::format_byte_size(sum(*used, smallest)),
                                    util::format_byte_size(report_.budget), remark_on_free(smallest, *used)));
  }

  [[nodiscard]] static std::int64_t sum(std::int64_t used, std::int64_t smallest) {
    return smallest + std::clamp<std::int64_t>(used, 0, std::numeric_limits<std::int64_t>::max() - smallest);
  }

  [[nodiscard]] std::string remark_on_free(std::int64_t smallest, std::int64_t used) const {
    const std::int64_t free = watch_->free_at_start() - used;
    return smallest <= free ? std::string() : fmt::format(", and {} are free", util::format_byte_size(free));
  }

  [[nodiscard]] std::int64_t available(std::int64_t used) const {
    return std::min(report_.budget - std::max<std::int64_t>(used, 0), watch_->free_at_start() - used);
  }

  // Stream and verification kernels.
  Expected<void> open_workshop() {
    if (workshop_) return {};
    auto stream = rehearsed_stream();
    if (!stream) return propagate(stream);
    auto verification = VerificationKernels::open(parts_.device, parts_.compiler, parts_.cabinet);
    if (!verification) return propagate(verification);
    workshop_ = std::make_unique<Workshop>(Workshop{parts_.device, std::move(*stream), std::move(*verification)});
    return workshop_->verification.empty(1, workshop_->stream.get()).and_then([&] {
      return watch_->wait("an empty kernel", workshop_->stream.get());
    });
  }

  Expected<DeviceStream> rehearsed_stream() {
    auto stream = make_stream(driver());
    if (!stream) return stream;
    auto rehearsal = std::make_unique<Rehearsal>(Rehearsal{parts_.device, std::move(*stream), {}});
    const auto rehearsed = rehearse(rehearsal->stream.get(), rehearsal->buffer);
    if (rehearsed) return std::move(rehearsal->stream);
    if (watch_->hung()) leave_behind(std::move(rehearsal));
    return propagate(rehearsed);
  }

  // One of each thing that executions ask of the driver besides launches, so that what it takes for the first of a kind
  // is taken, and counted, before the size of an execution is chosen. A whole granule goes back to the device for sure.
  Expected<void> rehearse(CUstream stream, DeviceBuffer& buffer) {
    std::uint32_t word = 0;
    const auto done = [&](CUresult result) { return driver().check(result, "trying the device's memory"); };
    return buffer.reserve(driver(), static_cast<std::size_t>(device_granule()))
        .and_then([&] { return watch_->used(); })
        .and_then([&](std::int64_t) { return done(driver().cuMemsetD8Async(buffer.address(), 0, 4, stream)); })
        .and_then([&] { return done(driver().cuMemsetD16Async(buffer.address(), 0, 2, stream)); })
        .and_then([&] { return done(driver().cuMemsetD32Async(buffer.address(), 0, 1, stream)); })
        .and_then([&] { return done(driver().cuMemcpyHtoDAsync(buffer.address(), &word, sizeof word, stream)); })
        .and_then([&] { return watch_->wait("trying the device's memory", stream); })
        .and_then([&] { return done(driver().cuMemcpyDtoH(&word, buffer.address(), sizeof word)); });
  }

  // Loads the kernel, executes it, and takes everything off the device again.
  Fate host(const PlannedKernel& kernel, const Code& code) {
    auto guest = std::make_unique<Guest>();
    auto obstacle = load(kernel, code, *guest);
    Fate fate = obstacle ? *std::move(obstacle) : perform(kernel, *guest);
    if (guest->bench) report_.launches += guest->bench->launches;
    if (fate.outcome == ExecutionOutcome::failed) fate = after_failure(std::move(fate));
    if (watch_->hung()) leave_behind(std::move(guest));
    return fate;
  }

  // What keeps the kernel from being executed; none when it is loaded. Each module takes of what is left for tensors.
  std::optional<Fate> load(const PlannedKernel& kernel, const Code& code, Guest& guest) {
    if (!code.quantization.empty()) {
      auto loaded = jit::QuantizationKernels::load(parts_.device, code.quantization, kernel.spec.architecture);
      if (!loaded) return failed(loaded.error().message);
      guest.quantization.emplace(std::move(*loaded));
      if (auto short_of = shortage(kernel)) return short_of;
    }
    if (!code.kernel.empty()) {
      auto loaded = jit::load_kernel(parts_.device, kernel.spec, code.kernel);
      if (!loaded) return failed(loaded.error().message);
      guest.kernel.emplace(std::move(*loaded));
      if (auto short_of = shortage(kernel)) return short_of;
    }
    const auto* quantization = guest.quantization ? &*guest.quantization : nullptr;
    guest.bench.emplace(ExecutorBench{
        *parts_.device, *watch_, workshop_->verification, quantization, workshop_->stream.get(), {}, seed_});
    seed_ += kSeedsApart;
    return std::nullopt;
  }

  Fate perform(const PlannedKernel& kernel, Guest& guest) {
    return is_quantization(kernel.spec) ? quantize(guest) : multiply(kernel, guest);
  }

  Fate multiply(const PlannedKernel& kernel, Guest& guest) {
    const auto used = watch_->used();
    if (!used) return failed(used.error().message);
    const auto size = size_for(kernel, available(*used), {parts_.device->info().num_sms});
    if (!size) return not_executed("no size of it fits the budget");
    auto executor = make_executor(*guest.bench, size->problem, size->rows);
    if (!executor) return not_executed(executor.error().message);
    guest.executor = std::move(*executor);
    return judge(*size, guest);
  }

  Fate judge(const ExecutionSize& size, Guest& guest) {
    for (const std::int64_t m : {size.m, size.first_m}) {
      const auto verdict = guest.executor->execute(m, guest.kernel->launchable);
      if (!verdict) return failed(verdict.error().message);
      if (!verdict->right()) {
        return failed(fmt::format("wrong result at M={} with N={}, K={}, {} groups: {} (seed {})", m, size.problem.n,
                                  size.problem.k, size.problem.groups, verdict->complaint, guest.bench->seed));
      }
      if (size.m == size.first_m) break;
    }
    return {};
  }

  Fate quantize(Guest& guest) {
    auto quantizer = QuantizationExecutor::open(*guest.bench);
    if (!quantizer) return not_executed(quantizer.error().message);
    guest.quantizer.emplace(std::move(*quantizer));
    const auto complaint = guest.quantizer->execute();
    if (!complaint) return failed(complaint.error().message);
    if (complaint->empty()) return {};
    return failed(fmt::format("wrong result: {} (seed {})", *complaint, guest.bench->seed));
  }

  // Whether the device can go on. Errors of a kernel, as an illegal address, stay with the context.
  Fate after_failure(Fate fate) {
    if (watch_->hung() || !watch_->wait("the device after a failure", workshop_->stream.get())) {
      return lose(std::move(fate));
    }
    return fate;
  }

  // From here on nothing is launched.
  Fate lose(Fate fate) {
    lost_ = "not tried any more: " + fate.reason;
    return fate;
  }

  ExecutionOutcome book(const jit::KernelSpec& spec, Fate fate) {
    if (fate.outcome == ExecutionOutcome::executed) {
      ++report_.executed;
      return fate.outcome;
    }
    auto& notes = fate.outcome == ExecutionOutcome::failed ? report_.failed : report_.not_executed;
    notes.push_back({jit::key_of(spec).hex(), spec, std::move(fate.reason)});
    return fate.outcome;
  }

  void tell(const jit::KernelSpec& spec, ExecutionOutcome outcome) noexcept {
    ++done_;
    if (!progress_) return;
    try {
      progress_({done_, static_cast<std::int64_t>(plan_.kernels.size()), spec, outcome});
    } catch (...) {  // the caller's own trouble with showing it
    }
  }

  void finish() {
    if (!watch_) return;
    report_.hung = watch_->hung();
    report_.peak_device_bytes = watch_->peak();
    if (report_.hung) leave_behind(std::move(workshop_));
    workshop_.reset();  // while the context is current
  }

  const Plan& plan_;
  const ExecutionParts& parts_;
  const ExecutionOptions& options_;
  const ExecutionProgress& progress_;
  const std::atomic<bool>* stop_;
  std::uint64_t seed_;
  std::int64_t done_ = 0;
  std::string lost_;  // why nothing can be launched any more; empty while it can
  std::optional<DeviceWatch> watch_;
  std::unique_ptr<Workshop> workshop_;
  ExecutionReport report_;
};

}  // namespace

ExecutionReport execute(const Plan& plan, const ExecutionParts& parts, const ExecutionOptions& options,
                        const ExecutionProgress& progress, const std::atomic<bool>* stop) {
  const util::Moment begin = util::now();
  ExecutionReport report = Run(plan, parts, options, progress, stop).go();
  report.seconds = util::seconds_since(begin);
  return report;
}

ExecutionReport execute_nothing(const Plan& plan, const std::string& reason) {
  ExecutionReport report;
  for (const PlannedKernel& kernel : plan.kernels) {
    report.not_executed.push_back({jit::key_of(kernel.spec).hex(), kernel.spec, reason});
  }
  return report;
}

}  // namespace cubinet::warmup
