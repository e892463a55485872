// Tests of executing plans on a fake GPU.
#include "warmup/execution/execution.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "catch.hpp"
#include "fake_gpu.hpp"
#include "jit/families/registry.hpp"
#include "jit/sm90/grouped_gemm.hpp"
#include "support/naive_family.hpp"
#include "unit/jit/fake_compiler.hpp"
#include "unit/jit/fake_driver.hpp"

namespace {

using namespace cubinet;
using test::fake_device;
using test::fake_gpu;
using test::mib;
using warmup::ExecutionOptions;
using warmup::ExecutionOutcome;
using warmup::ExecutionReport;
using warmup::Plan;

// A plan of all families with every kernel that is selected up to `largest_m`.
Plan plan_of(std::int64_t n, std::int64_t k, std::int32_t groups, std::int64_t largest_m) {
  warmup::PlanRequest request;
  for (const DataType type : {DataType::bf16, DataType::fp8}) {
    for (const Layout layout : {Layout::contiguous, Layout::masked}) {
      request.problems.push_back({{type, layout, n, k, groups}, {1, largest_m}});
    }
  }
  const auto plan = warmup::make_plan(request);
  REQUIRE(plan);
  return *plan;
}

Plan small_plan() { return plan_of(256, 256, 4, 4096); }

// A new fake GPU and an execution on it.
struct Bench {
  std::shared_ptr<const jit::DeviceContext> device = test::make_fake_gpu();
  test::FakeCompiler compiler;
  warmup::ExecutionProgress progress;
  std::atomic<bool> stop{false};

  ExecutionReport execute(const Plan& plan, std::int64_t budget) {
    ExecutionOptions options;
    options.budget = budget;
    options.deadline = std::chrono::milliseconds(30);
    return warmup::execute(plan, {device, compiler, nullptr}, options, progress, &stop);
  }
};

void check_nothing_left() {
  CHECK(fake_gpu().allocations.empty());
  CHECK(test::modules_loaded() == 0);
  CHECK(fake_gpu().streams == 0);
  CHECK_FALSE(fake_gpu().lost_context);
}

std::size_t total(const ExecutionReport& report) {
  return static_cast<std::size_t>(report.executed) + report.failed.size() + report.not_executed.size();
}

}  // namespace

TEST_CASE("64 MiB are enough to execute every kernel of a layer with 32 groups, N=7168 and K=4096") {
  Bench bench;
  const Plan plan = plan_of(7168, 4096, 32, 16384);
  const ExecutionReport report = bench.execute(plan, 64 * mib);
  for (const auto& note : report.not_executed) UNSCOPED_INFO(jit::describe(note.spec) << ": " << note.reason);
  CHECK(report.executed == static_cast<std::int64_t>(plan.kernels.size()));
  CHECK(report.failed.empty());
  CHECK(report.budget == 64 * mib);
  CHECK(report.peak_device_bytes <= 64 * mib);
  CHECK(report.peak_device_bytes == static_cast<std::int64_t>(fake_gpu().peak_bytes));
  CHECK(report.device == "Fake GPU");
  check_nothing_left();
}

TEST_CASE("No execution exceeds its budget, and each kernel is executed or listed with the memory it needs") {
  const Plan plan = plan_of(1024, 1024, 8, 16384);
  std::int64_t executed = 0;
  for (std::int64_t budget = 0; budget <= 40 * mib; budget += mib + 12345) {
    Bench bench;
    const ExecutionReport report = bench.execute(plan, budget);
    CHECK(static_cast<std::int64_t>(fake_gpu().peak_bytes) <= budget);
    CHECK(report.peak_device_bytes == static_cast<std::int64_t>(fake_gpu().peak_bytes));
    CHECK(total(report) == plan.kernels.size());
    CHECK(report.failed.empty());
    CHECK(report.executed >= executed);
    for (const auto& note : report.not_executed) {
      CHECK(note.reason.find("needs at least") == 0);
      CHECK(note.reason.find("the budget is") != std::string::npos);
    }
    executed = report.executed;
    check_nothing_left();
  }
  CHECK(executed == static_cast<std::int64_t>(plan.kernels.size()));
}

TEST_CASE("If no kernel fits, nothing is loaded, launched or compiled") {
  Bench bench;
  const Plan plan = plan_of(7168, 4096, 32, 16384);
  const ExecutionReport report = bench.execute(plan, mib);
  CHECK(report.executed == 0);
  CHECK(report.launches == 0);
  CHECK(report.peak_device_bytes == 0);
  REQUIRE(report.not_executed.size() == plan.kernels.size());
  CHECK(report.not_executed.front().reason == "needs at least 62 MiB of device memory, the budget is 1 MiB");
  CHECK(report.not_executed.front().key == jit::key_of(plan.kernels.front().spec).hex());
  CHECK(fake_device().loaded.empty());
  CHECK(bench.compiler.calls == 0);
}

TEST_CASE("The default budget is half of the free memory, and no budget exceeds the free memory") {
  Bench bench;
  fake_gpu().total_bytes = std::size_t{100} << 20;
  ExecutionOptions options;
  const Plan plan = plan_of(1024, 1024, 8, 16384);
  const ExecutionReport half = warmup::execute(plan, {bench.device, bench.compiler, nullptr}, options, {});
  CHECK(half.budget == 50 * mib);
  CHECK(half.peak_device_bytes <= 50 * mib);
  CHECK(half.executed == static_cast<std::int64_t>(plan.kernels.size()));
  const ExecutionReport all = bench.execute(plan, 1000 * mib);
  CHECK(all.executed == static_cast<std::int64_t>(plan.kernels.size()));
  CHECK(all.peak_device_bytes <= 100 * mib);
  const ExecutionReport large = bench.execute(plan_of(16384, 8192, 8, 128), 1000 * mib);
  CHECK(large.executed == 1);  // the quantization, which is small
  REQUIRE_FALSE(large.not_executed.empty());
  CHECK(large.not_executed.front().reason.find("MiB are free") != std::string::npos);
}

TEST_CASE("Every kernel is launched with its planned configuration, and one GEMM module is loaded at a time") {
  Bench bench;
  const Plan plan = small_plan();
  int most = 0;
  std::set<std::string> seen;
  bench.progress = [&](const warmup::ExecutionStep& step) {
    CHECK(step.outcome == ExecutionOutcome::executed);
    CHECK(step.total == static_cast<std::int64_t>(plan.kernels.size()));
    CHECK(step.done == static_cast<std::int64_t>(seen.size()) + 1);
    seen.insert(jit::describe(step.latest));
    most = std::max(most, test::modules_loaded());
  };
  const ExecutionReport report = bench.execute(plan, 1000 * mib);
  CHECK(report.executed == static_cast<std::int64_t>(plan.kernels.size()));
  CHECK(seen.size() == plan.kernels.size());
  CHECK(most == 1);  // only the verification module stays loaded between kernels
  CHECK(report.launches ==
        test::launches_of("_grouped_") + test::launches_of("fp8_quantize") + test::launches_of("fp8_transpose"));
  for (const auto& kernel : plan.kernels) {
    if (kernel.spec.n == 0) continue;
    CHECK(
        std::count_if(fake_device().history.begin(), fake_device().history.end(), [&](const test::FakeLaunch& launch) {
          return launch.name == kernel.spec.family_name() &&
                 launch.threads == static_cast<unsigned>(jit::sm90::threads_per_cta(jit::sm90::config_of(kernel.spec)));
        }) >= 1);
  }
}

TEST_CASE("A kernel with a wrong result is reported by name, and the others are executed") {
  for (const char* wrong :
       {"bf16_grouped_masked", "fp8_grouped_contiguous", "fp8_quantize_rows", "fp8_quantize_weights"}) {
    Bench bench;
    fake_gpu().wrong = wrong;
    const Plan plan = small_plan();
    const ExecutionReport report = bench.execute(plan, 1000 * mib);
    INFO(wrong);
    CHECK(total(report) == plan.kernels.size());
    CHECK(report.executed > 0);
    REQUIRE_FALSE(report.failed.empty());
    CHECK(report.failed.front().reason.find("wrong result") == 0);
    CHECK(report.failed.front().reason.find("seed") != std::string::npos);
    if (std::string(wrong).find("quantize") != std::string::npos) {
      CHECK(report.failed.front().spec.family_name() == "fp8_quantization");
    }
    check_nothing_left();
  }
}

TEST_CASE("A transposition that does nothing is reported as a failure of the quantization") {
  Bench bench;
  fake_gpu().wrong = "fp8_transpose_scales";
  const ExecutionReport report = bench.execute(small_plan(), 1000 * mib);
  REQUIRE(report.failed.size() == 1);
  CHECK(report.failed.front().reason.find("transposed scales") != std::string::npos);
}

TEST_CASE("After a hang nothing is launched, and memory that the hanging kernel may use is not freed") {
  Bench bench;
  fake_gpu().hangs = true;
  const Plan plan = small_plan();
  const ExecutionReport report = bench.execute(plan, 1000 * mib);
  CHECK(report.hung);
  CHECK(report.executed == 0);
  REQUIRE(report.failed.size() == 1);
  CHECK(report.failed.front().reason.find("did not end within 30 ms") != std::string::npos);
  CHECK(report.not_executed.size() == plan.kernels.size() - 1);
  CHECK(report.not_executed.front().reason.find("not tried any more") == 0);
  CHECK(test::launches_of("_grouped_") == 1);
  CHECK_FALSE(fake_gpu().touched_hung);
  bench.device.reset();
  CHECK(fake_device().retained == 1);
}

TEST_CASE("After a hang before the first load nothing is launched, and memory in use is not freed") {
  Bench bench;
  fake_gpu().stalls = true;
  const Plan plan = small_plan();
  const ExecutionReport report = bench.execute(plan, 1000 * mib);
  CHECK(report.hung);
  CHECK(report.launches == 0);
  REQUIRE(report.failed.size() == 1);
  CHECK(report.failed.front().reason.find("did not end within 30 ms") != std::string::npos);
  REQUIRE(report.not_executed.size() == plan.kernels.size() - 1);
  CHECK(report.not_executed.front().reason.find("not tried any more") == 0);
  CHECK(fake_device().loaded.empty());
  CHECK_FALSE(fake_gpu().touched_hung);
  bench.device.reset();
  CHECK(fake_device().retained == 1);
}

TEST_CASE("After an error that stays with the context nothing is launched, and memory is freed") {
  Bench bench;
  fake_gpu().faults = CUDA_ERROR_ILLEGAL_ADDRESS;
  const Plan plan = small_plan();
  const ExecutionReport report = bench.execute(plan, 1000 * mib);
  REQUIRE(report.failed.size() == 1);
  CHECK(report.not_executed.size() == plan.kernels.size() - 1);
  CHECK_FALSE(report.hung);
  CHECK(test::launches_of("_grouped_") == 1);
  check_nothing_left();
}

TEST_CASE("A stopped execution starts no further kernel and lists the remaining ones") {
  Bench bench;
  const Plan plan = small_plan();
  bench.progress = [&](const warmup::ExecutionStep&) { bench.stop = true; };
  const ExecutionReport report = bench.execute(plan, 1000 * mib);
  CHECK(report.executed == 1);
  CHECK(report.interrupted);
  REQUIRE(report.not_executed.size() == plan.kernels.size() - 1);
  CHECK(report.not_executed.front().reason == "interrupted");
  check_nothing_left();
}

TEST_CASE("Kernels that are missing or do not run on the device are listed as not executed, with the reason") {
  {
    Bench bench;
    bench.compiler.fails = true;
    const ExecutionReport report = bench.execute(small_plan(), 1000 * mib);
    CHECK(report.not_executed.size() == small_plan().kernels.size());
    CHECK(report.not_executed.front().reason.find("refused") != std::string::npos);
    check_nothing_left();
  }
  Bench bench;
  Plan plan = small_plan();
  for (auto& kernel : plan.kernels) kernel.spec.architecture = "sm_100a";
  const ExecutionReport report = bench.execute(plan, 1000 * mib);
  REQUIRE(report.not_executed.size() == plan.kernels.size());
  CHECK(report.not_executed.front().reason.find("sm_100a does not run on device 0 (Fake GPU") != std::string::npos);
  CHECK(fake_device().loaded.empty());
}

TEST_CASE("Without a device every kernel is listed with the reason") {
  const Plan plan = small_plan();
  const ExecutionReport report = warmup::execute_nothing(plan, "no driver");
  CHECK(report.executed == 0);
  CHECK(report.device.empty());
  REQUIRE(report.not_executed.size() == plan.kernels.size());
  for (const auto& note : report.not_executed) CHECK(note.reason == "no driver");
}

TEST_CASE("A generic kernel is executed with N and K of one of its uses") {
  Bench bench;
  Plan plan = small_plan();
  plan.kernels.resize(1);
  auto& kernel = plan.kernels.front();
  kernel.spec.n = kernel.spec.k = 0;
  kernel.uses.insert(kernel.uses.begin(), kernel.uses.front());
  kernel.uses.front().problem.n = 1 << 20;  // too large for the budget
  const ExecutionReport report = bench.execute(plan, 16 * mib);
  CHECK(report.executed == 1);
  CHECK(test::launches_of(kernel.spec.family_name()) == 2);
}

TEST_CASE("A plan is executed with the families of its registry") {
  const jit::Registry families({{.architecture = "sm_90a",
                                 .gemms = {&test::naive_family()},
                                 .verification = jit::families().verification("sm_90a")}});
  warmup::PlanRequest request;
  request.problems = {{{DataType::bf16, Layout::masked, 40, 24, 3}, {1, 512}}};
  const auto plan = warmup::make_plan(request, families);
  REQUIRE(plan);
  {
    Bench bench;
    const ExecutionReport report = warmup::execute(*plan, {bench.device, bench.compiler, nullptr, families}, {}, {});
    CHECK(report.executed == 1);
    CHECK(test::launches_of("naive_masked") == 2);  // the largest and the smallest M
    check_nothing_left();
  }
  Bench bench;
  const ExecutionReport report =
      warmup::execute(*plan, {bench.device, bench.compiler, nullptr, test::naive_registry()}, {}, {});
  REQUIRE(report.not_executed.size() == 1);
  CHECK(report.not_executed.front().reason == "there are no verification kernels for sm_90a");
}

TEST_CASE("A kernel with scales is not executed if its family declares no kernel that transposes them") {
  const Problem problem{DataType::fp8, Layout::masked, 256, 256, 4};
  const auto config = jit::sm90::config_of(jit::families().generic(problem));
  const jit::sm90::GroupedGemm alone({.name = "fp8_grouped_masked",
                                      .data_type = problem.data_type,
                                      .layout = problem.layout,
                                      .ladder = {{jit::sm90::kNoLimit, config}},
                                      .generic = config});
  const jit::Registry families({{.architecture = "sm_90a",
                                 .gemms = {&alone},
                                 .quantization = jit::families().quantization("sm_90a"),
                                 .verification = jit::families().verification("sm_90a")}});
  warmup::PlanRequest request;
  request.problems = {{problem, {1, 512}}};
  const auto plan = warmup::make_plan(request, families);
  REQUIRE(plan);
  Bench bench;
  const ExecutionReport report = warmup::execute(*plan, {bench.device, bench.compiler, nullptr, families}, {}, {});
  REQUIRE(report.not_executed.size() == 1);
  CHECK(report.not_executed.front().reason ==
        "no companion kernel transposes the scales of fp8_grouped_masked N=256 K=256 groups=4");
  CHECK(test::launches_of("fp8_transpose") == 0);
}
