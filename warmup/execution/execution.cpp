#include "warmup/execution/execution.hpp"

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "jit/families/registry.hpp"
#include "jit/kernel.hpp"
#include "jit/provide.hpp"
#include "jit/quantization_kernels.hpp"
#include "jit/target.hpp"
#include "util/clock.hpp"
#include "warmup/execution/execution_setup.hpp"
#include "warmup/execution/execution_size.hpp"
#include "warmup/execution/executor.hpp"
#include "warmup/execution/memory_budget.hpp"
#include "warmup/execution/quantization_executor.hpp"

namespace cubinet::warmup {
namespace {

// Between the seeds of two kernels: more than the executions of one kernel use up.
constexpr std::uint64_t kSeedsPerKernel = 16;

struct KernelResult {
  ExecutionOutcome outcome = ExecutionOutcome::executed;
  std::string reason;  // empty if the kernel was executed
};

KernelResult failed(std::string reason) { return {ExecutionOutcome::failed, std::move(reason)}; }
KernelResult not_executed(std::string reason) { return {ExecutionOutcome::not_executed, std::move(reason)}; }

struct Cubin {
  jit::KernelSpec spec;
  std::string bytes;
};

// The cubins that the execution of a kernel loads.
struct Cubins {
  std::optional<Cubin> gemm;
  std::optional<Cubin> quantization;
};

// What is on the device for one kernel. Destroyed in reverse order: tensors before code.
struct KernelOnDevice {
  std::shared_ptr<const jit::GemmKernel> kernel;
  std::shared_ptr<const jit::QuantizationKernels> quantization;
  std::optional<ExecutorContext> context;
  std::optional<QuantizationExecutor> quantizer;
  std::optional<GroupedExecutor> executor;
};

// One execution of a plan.
class PlanExecution {
 public:
  PlanExecution(const Plan& plan, const ExecutionParts& parts, const ExecutionOptions& options,
                const ExecutionProgress& progress, const std::atomic<bool>* stop)
      : plan_(plan), parts_(parts), options_(options), progress_(progress), stop_(stop), seed_(options.seed) {}

  ExecutionReport run() {
    const jit::CurrentContext current(*parts_.device);
    report_.device = parts_.device->info().name;
    report_.budget = options_.budget.value_or(0);
    if (const auto ready = current.status().and_then([&] { return start(); }); !ready) {
      device_lost_ = ready.error().message;
    }
    for (const PlannedKernel& kernel : plan_.kernels) show(kernel.spec, record(kernel.spec, execute(kernel)));
    finish();
    return std::move(report_);
  }

 private:
  Expected<void> start() {
    auto watch = DeviceWatch::start(parts_.device->driver(), options_.deadline);
    if (!watch) return propagate(watch);
    watch_ = *watch;
    report_.budget = options_.budget.value_or(default_budget(watch_->free_at_start()));
    budget_.emplace(*watch_, report_.budget);
    return {};
  }

  KernelResult execute(const PlannedKernel& kernel) {
    if (stop_ != nullptr && stop_->load()) {
      report_.interrupted = true;
      return not_executed("interrupted");
    }
    if (!device_lost_.empty()) return not_executed(device_lost_);
    if (const auto runs = jit::check_device(kernel.spec.architecture, parts_.device->info()); !runs) {
      return not_executed(runs.error().message);
    }
    // Checked before anything is loaded for the kernel, because that takes memory too.
    if (auto obstacle = check_budget(kernel)) return *std::move(obstacle);
    if (!setup_) {
      if (auto obstacle = set_up()) return *std::move(obstacle);
      if (auto obstacle = check_budget(kernel)) return *std::move(obstacle);
    }
    const auto cubins = cubins_for(kernel);
    if (!cubins) return not_executed(cubins.error().message);
    return load_and_run(kernel, *cubins);
  }

  // The result if not even the smallest execution of the kernel is within the budget; none if it is.
  std::optional<KernelResult> check_budget(const PlannedKernel& kernel) {
    auto shortage =
        budget_->shortage(saturating_sum(smallest_charge(kernel, parts_.families), setup_ ? 0 : kSetupBytes));
    if (!shortage) return lose_device(not_executed(shortage.error().message));
    if (shortage->empty()) return std::nullopt;
    return not_executed(*std::move(shortage));
  }

  // The result if the setup fails; none if it succeeds.
  std::optional<KernelResult> set_up() {
    auto setup = open_setup(parts_, *watch_);
    if (setup) {
      setup_ = *std::move(setup);
      return std::nullopt;
    }
    // The architecture has been checked. So wrong_device comes from the driver, which would not load the plan's kernels
    // either.
    const bool device_failed = watch_->hung() || setup.error().code == ErrorCode::wrong_device;
    const std::string& reason = setup.error().message;
    return lose_device(device_failed ? failed(reason) : not_executed(reason));
  }

  [[nodiscard]] jit::Target target_for(const PlannedKernel& kernel) const {
    return {kernel.spec.architecture, parts_.device->info().num_sms};
  }

  // The companion of the kernel's problems that quantizes and transposes scales; the kernel itself if it is that one.
  [[nodiscard]] std::optional<jit::KernelSpec> quantization_for(const PlannedKernel& kernel) const {
    for (const jit::KernelSpec& spec : parts_.families.companions(kernel.uses.front().problem, target_for(kernel))) {
      if (is_quantization(spec, parts_.families)) return spec;
    }
    return std::nullopt;
  }

  Expected<Cubins> cubins_for(const PlannedKernel& kernel) {
    Cubins cubins;
    const auto provide = [&](const jit::KernelSpec& spec, std::optional<Cubin>& cubin) {
      return jit::provide(spec, parts_.compiler, parts_.cabinet).map([&](jit::Provided provided) {
        cubin = Cubin{spec, std::move(provided.object.payload)};
      });
    };
    Expected<void> done;
    if (!is_quantization(kernel.spec, parts_.families)) done = provide(kernel.spec, cubins.gemm);
    const auto quantization = quantization_for(kernel);
    if (done && quantization) done = provide(*quantization, cubins.quantization);
    return done.map([&] { return std::move(cubins); });
  }

  // Loads the kernel, runs it, and frees everything that it took on the device.
  KernelResult load_and_run(const PlannedKernel& kernel, const Cubins& cubins) {
    auto loaded = std::make_unique<KernelOnDevice>();
    auto obstacle = load(kernel, cubins, *loaded);
    KernelResult result = obstacle ? *std::move(obstacle) : run_loaded(kernel, *loaded);
    if (loaded->context) report_.launches += loaded->context->launches;
    if (result.outcome == ExecutionOutcome::failed) result = check_device_after(std::move(result));
    if (watch_->hung()) abandon(std::move(loaded));
    return result;
  }

  // The result if the kernel cannot be loaded; none if it is loaded. Each module leaves less memory for tensors.
  std::optional<KernelResult> load(const PlannedKernel& kernel, const Cubins& cubins, KernelOnDevice& loaded) {
    if (const auto& cubin = cubins.quantization) {
      auto module = jit::load_kernel<jit::QuantizationKernels>(parts_.device, cubin->spec, cubin->bytes);
      if (!module) return failed(module.error().message);
      loaded.quantization = std::move(*module);
      if (auto obstacle = check_budget(kernel)) return obstacle;
    }
    if (const auto& cubin = cubins.gemm) {
      auto module = jit::load_kernel<jit::GemmKernel>(parts_.device, cubin->spec, cubin->bytes);
      if (!module) return failed(module.error().message);
      loaded.kernel = std::move(*module);
      if (auto obstacle = check_budget(kernel)) return obstacle;
    }
    loaded.context.emplace(ExecutorContext{.device = *parts_.device,
                                           .watch = *watch_,
                                           .verification = setup_->verification,
                                           .quantization = loaded.quantization.get(),
                                           .stream = setup_->stream.get(),
                                           .seed = seed_,
                                           .families = parts_.families});
    seed_ += kSeedsPerKernel;
    return std::nullopt;
  }

  KernelResult run_loaded(const PlannedKernel& kernel, KernelOnDevice& loaded) {
    return loaded.kernel == nullptr ? run_quantization(loaded) : run_gemm(kernel, loaded);
  }

  KernelResult run_gemm(const PlannedKernel& kernel, KernelOnDevice& loaded) {
    const auto available = budget_->available();
    if (!available) return failed(available.error().message);
    const auto size = choose_size(kernel, *available, target_for(kernel), parts_.families);
    if (!size) return not_executed("no size of it fits the budget");
    auto executor = GroupedExecutor::open(*loaded.context, size->problem, size->rows);
    if (!executor) return not_executed(executor.error().message);
    loaded.executor.emplace(std::move(*executor));
    for (const std::int64_t m : {size->m, size->first_m}) {
      const auto verdict = loaded.executor->execute(m, *loaded.kernel);
      if (!verdict) return failed(verdict.error().message);
      if (!verdict->right()) {
        return failed(fmt::format("wrong result at M={} with N={}, K={}, {} groups: {} (seed {})", m, size->problem.n,
                                  size->problem.k, size->problem.groups, verdict->complaint, loaded.context->seed));
      }
      if (size->m == size->first_m) break;
    }
    return {};
  }

  KernelResult run_quantization(KernelOnDevice& loaded) {
    auto quantizer = QuantizationExecutor::open(*loaded.context);
    if (!quantizer) return not_executed(quantizer.error().message);
    loaded.quantizer.emplace(std::move(*quantizer));
    const auto complaint = loaded.quantizer->execute();
    if (!complaint) return failed(complaint.error().message);
    if (complaint->empty()) return {};
    return failed(fmt::format("wrong result: {} (seed {})", *complaint, loaded.context->seed));
  }

  // Finds out whether the device can still be used. Some errors of a kernel, such as an illegal address, stay with the
  // context.
  KernelResult check_device_after(KernelResult failure) {
    if (watch_->hung() || !watch_->wait("the device after a failure", setup_->stream.get())) {
      return lose_device(std::move(failure));
    }
    return failure;
  }

  // After this nothing is launched any more.
  KernelResult lose_device(KernelResult result) {
    device_lost_ = "not tried any more: " + result.reason;
    return result;
  }

  ExecutionOutcome record(const jit::KernelSpec& spec, KernelResult result) {
    if (result.outcome == ExecutionOutcome::executed) {
      ++report_.executed;
      return result.outcome;
    }
    auto& notes = result.outcome == ExecutionOutcome::failed ? report_.failed : report_.not_executed;
    notes.push_back({jit::key_of(spec).hex(), spec, std::move(result.reason)});
    return result.outcome;
  }

  void show(const jit::KernelSpec& spec, ExecutionOutcome outcome) noexcept {
    ++done_;
    if (!progress_) return;
    try {
      progress_({done_, static_cast<std::int64_t>(plan_.kernels.size()), spec, outcome});
    } catch (...) {  // an exception of the caller's display does not end the execution
    }
  }

  void finish() {
    if (!watch_) return;
    report_.hung = watch_->hung();
    report_.peak_device_bytes = watch_->peak();
    if (report_.hung) abandon(std::move(setup_));
    setup_.reset();  // while the context is current
  }

  const Plan& plan_;
  const ExecutionParts& parts_;
  const ExecutionOptions& options_;
  const ExecutionProgress& progress_;
  const std::atomic<bool>* stop_;
  std::uint64_t seed_;
  std::int64_t done_ = 0;
  std::string device_lost_;  // why nothing can be launched any more; empty while kernels can be
  std::optional<DeviceWatch> watch_;
  std::optional<MemoryBudget> budget_;
  std::unique_ptr<ExecutionSetup> setup_;
  ExecutionReport report_;
};

}  // namespace

ExecutionReport execute(const Plan& plan, const ExecutionParts& parts, const ExecutionOptions& options,
                        const ExecutionProgress& progress, const std::atomic<bool>* stop) {
  const util::Moment begin = util::now();
  ExecutionReport report = PlanExecution(plan, parts, options, progress, stop).run();
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
