// Tests of executors and memory budgets on a device. They measure the memory of the whole device, so nothing else may
// use it meanwhile.
#include "warmup/execution/executor.hpp"

#include <algorithm>
#include <chrono>
#include <memory>

#include "gpu/gpu.hpp"
#include "jit/families/registry.hpp"
#include "jit/kernel.hpp"
#include "jit/provide.hpp"
#include "warmup/execution/execution.hpp"
#include "warmup/execution/execution_size.hpp"

namespace cubinet::tests {
namespace {

constexpr std::int64_t kMib = std::int64_t{1} << 20;
constexpr std::chrono::milliseconds kDeadline{20'000};
constexpr const char* kArchitecture = "sm_90a";

template <class T>
T must(Expected<T> value) {
  if (!value) throw std::runtime_error(value.error().message);
  return std::move(*value);
}

// An ExecutorContext on the device under test.
class Fixture {
 public:
  explicit Fixture(Gpu& gpu) : gpu_(gpu) { context_.seed = gpu.seed(); }

  warmup::ExecutorContext& context() { return context_; }

  warmup::GroupedExecutor open(const Problem& problem, std::int64_t largest_m) {
    return must(warmup::GroupedExecutor::open(context_, problem, largest_m));
  }

  // Loads the kernel that m selects.
  std::shared_ptr<const jit::GemmKernel> load(const Problem& problem, std::int64_t m) {
    const auto spec = jit::families().select(problem, m);
    return must(jit::load_kernel<jit::GemmKernel>(session().device, spec, cubin(spec)));
  }

  // Executes the kernel that m selects.
  Expected<warmup::Verdict> execute(warmup::GroupedExecutor& executor, std::int64_t m) {
    return executor.execute(m, *load(executor.problem(), m));
  }

 private:
  [[nodiscard]] test::GpuSession& session() const { return gpu_.session(); }
  [[nodiscard]] std::string cubin(const jit::KernelSpec& wanted) const {
    return must(jit::provide(wanted, *session().compiler, session().cabinet_or_null())).object.payload;
  }

  Gpu& gpu_;
  warmup::DeviceWatch watch_ = must(warmup::DeviceWatch::start(gpu_.driver(), kDeadline));
  warmup::DeviceStream stream_ = must(warmup::make_stream(gpu_.driver()));
  jit::KernelSpec quantization_spec_ = jit::families().quantization(kArchitecture)->spec();
  std::shared_ptr<const jit::QuantizationKernels> quantization_ =
      must(jit::load_kernel<jit::QuantizationKernels>(session().device, quantization_spec_, cubin(quantization_spec_)));
  warmup::ExecutorContext context_{*session().device, watch_, gpu_.verifier().kernels(), quantization_.get(),
                                   stream_.get()};
};

warmup::Plan planned(const std::vector<Problem>& problems, std::int64_t largest_m) {
  warmup::PlanRequest request;
  request.problems = warmup::over_range(problems, {1, largest_m});
  return must(warmup::make_plan(request));
}

warmup::ExecutionReport execute(Gpu& gpu, const warmup::Plan& plan, std::int64_t budget) {
  warmup::ExecutionOptions options;
  options.budget = budget;
  options.seed = gpu.seed();
  options.deadline = kDeadline;
  auto& session = gpu.session();
  auto report =
      warmup::execute(plan, {session.device, *session.compiler, session.cabinet_or_null()}, options, {}, nullptr);
  for (const auto* notes : {&report.failed, &report.not_executed}) {
    for (const auto& note : *notes) UNSCOPED_INFO(jit::describe(note.spec) << ": " << note.reason);
  }
  UNSCOPED_INFO("peak " << report.peak_device_bytes << " of " << budget);
  return report;
}

void check_all_executed(const warmup::ExecutionReport& report, const warmup::Plan& plan) {
  CHECK(report.executed == static_cast<std::int64_t>(plan.kernels.size()));
  CHECK(report.failed.empty());
  CHECK(report.not_executed.empty());
  CHECK(report.peak_device_bytes <= report.budget);
}

constexpr Problem small(DataType type, Layout layout) { return {type, layout, 264, 512, 5}; }

}  // namespace

TEST_CASE("every executor executes every m with a correct result", "[executor][small]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  for (const Layout layout : {Layout::contiguous, Layout::masked}) {
    Fixture fixture(gpu);
    const Problem problem = small(type, layout);
    auto executor = fixture.open(problem, 3000);
    for (const std::int64_t m : {1, 5, 64, 127, 128, 129, 300, 3000}) {
      INFO(jit::operation_name(problem) << " m=" << m << " seed " << gpu.seed());
      const auto verdict = fixture.execute(executor, m);
      REQUIRE(verdict);
      CHECK(verdict->complaint == "");
    }
  }
}

TEST_CASE("in the masked layout every kernel is executed with a small capacity", "[executor][small]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const Problem problem = small(type, Layout::masked);
  for (const std::int64_t capacity : {1, 7, 100}) {
    Fixture fixture(gpu);
    auto executor = fixture.open(problem, capacity);
    for (const std::int64_t m : selecting_ms(problem)) {
      INFO("capacity " << capacity << " m=" << m << " seed " << gpu.seed());
      const auto verdict = fixture.execute(executor, m);
      REQUIRE(verdict);
      CHECK(verdict->complaint == "");
    }
  }
}

TEST_CASE("an executor takes its declared memory, rounded up to the driver's steps", "[executor]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  for (const Layout layout : {Layout::contiguous, Layout::masked}) {
    Fixture fixture(gpu);
    const Problem problem{type, layout, 2048, 1024, 4};
    const std::int64_t before = must(fixture.context().watch.used());
    auto executor = fixture.open(problem, 5000);
    const std::int64_t taken = must(fixture.context().watch.used()) - before;
    const std::int64_t required = warmup::executor_layout(problem, 5000).value().bytes;
    CHECK(taken >= required);
    CHECK(taken <= warmup::charged_bytes(required));
  }
}

TEST_CASE("a kernel that computes another product, or omits columns, is detected", "[executor]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  for (const Layout layout : {Layout::contiguous, Layout::masked}) {
    Fixture fixture(gpu);
    const Problem problem = small(type, layout);
    auto executor = fixture.open(problem, 200);
    const auto complaint_with = [&](std::int64_t n, std::int64_t k) {
      Problem other = problem;
      other.n = n;
      other.k = k;
      const auto kernel = fixture.load(other, 200);
      const auto verdict = executor.execute(200, *kernel);
      return verdict ? verdict->complaint : verdict.error().message;
    };
    CHECK(complaint_with(problem.n, problem.k) == "");
    CHECK(mentions(complaint_with(problem.n, problem.k / 2), "differs from the reference"));
    CHECK(mentions(complaint_with(128, problem.k), "written"));
  }
}

TEST_CASE("64 MiB are enough on a GPU for every kernel of a layer with 32 groups, N=7168 and K=4096", "[executor]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  for (const Layout layout : {Layout::contiguous, Layout::masked}) {
    const auto plan = planned({{type, layout, 7168, 4096, 32}}, 16384);
    check_all_executed(execute(gpu, plan, 64 * kMib), plan);
  }
}

TEST_CASE("2 GiB are enough for the kernels of both layouts up to large M, some of them forced", "[executor]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const auto plan =
      planned({{type, Layout::contiguous, 4096, 7168, 32}, {type, Layout::masked, 4096, 7168, 32}}, 131072);
  const auto report = execute(gpu, plan, 2048 * kMib);
  check_all_executed(report, plan);
  CHECK(report.peak_device_bytes > 1024 * kMib);
}

TEST_CASE("with a budget of 1 MiB nothing is executed, the reason is reported, and all memory is freed", "[executor]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const std::size_t before = gpu.free_bytes();
  const auto plan =
      planned({{type, Layout::contiguous, 7168, 4096, 32}, {type, Layout::masked, 7168, 4096, 32}}, 16384);
  const auto report = execute(gpu, plan, kMib);
  CHECK(report.executed == 0);
  CHECK(report.launches == 0);
  CHECK(report.peak_device_bytes <= kMib);
  REQUIRE(report.not_executed.size() == plan.kernels.size());
  for (const auto& note : report.not_executed) {
    CHECK(mentions(note.reason, "the budget is 1 MiB"));
  }
  CHECK(gpu.free_bytes() == before);
}

TEST_CASE("repeated executions do not increase the memory in use", "[executor]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const auto plan = planned({small(type, Layout::contiguous), small(type, Layout::masked)}, 16384);
  execute(gpu, plan, 512 * kMib);  // the driver may keep memory from the first execution
  const std::size_t after_one = gpu.free_bytes();
  for (int i = 0; i < 5; ++i) check_all_executed(execute(gpu, plan, 512 * kMib), plan);
  CHECK(gpu.free_bytes() == after_one);
}

}  // namespace cubinet::tests
