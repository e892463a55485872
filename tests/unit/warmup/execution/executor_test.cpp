// Tests of executors on a fake GPU whose kernels agree with the reference unless a test changes that.
#include "warmup/execution/executor.hpp"

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.hpp"
#include "fake_gpu.hpp"
#include "jit/families/registry.hpp"
#include "jit/kernel_spec.hpp"
#include "jit/loader.hpp"
#include "unit/jit/fake_compiler.hpp"
#include "unit/jit/fake_driver.hpp"

namespace {

using namespace cubinet;
using test::fake_gpu;
template <class T>
T must(Expected<T> value) {
  if (!value) throw std::runtime_error(value.error().message);
  return std::move(*value);
}

// A fake GPU with all that executors need.
struct Fixture {
  std::shared_ptr<const jit::DeviceContext> device = test::make_fake_gpu();
  jit::CurrentContext current{*device};
  test::FakeCompiler compiler;
  warmup::DeviceWatch watch = must(warmup::DeviceWatch::start(device->driver(), std::chrono::milliseconds(50)));
  warmup::VerificationKernels verification = must(warmup::VerificationKernels::open(device, compiler, nullptr));
  std::shared_ptr<const jit::QuantizationKernels> quantization =
      must(jit::load_kernel<jit::QuantizationKernels>(device, jit::families().quantization("sm_90a")->spec(), "cubin"));
  warmup::ExecutorContext context{*device, watch, verification, quantization.get()};

  // Executes the kernel that m selects.
  Expected<warmup::Verdict> execute(warmup::GroupedExecutor& executor, std::int64_t m) {
    const Problem& problem = executor.problem();
    const auto spec = jit::families().select(problem, std::max<std::int64_t>(m, 1));
    return executor.execute(m, *must(jit::load_kernel<jit::GemmKernel>(device, spec, "cubin")));
  }
};

struct Shape {
  std::int64_t n;
  std::int64_t k;
  std::int32_t groups;
  std::int64_t largest_m;
};

// Opens an executor of each family in turn.
template <class Body>
void for_each_family(const Shape& shape, const Body& body) {
  for (const DataType type : {DataType::bf16, DataType::fp8}) {
    for (const Layout layout : {Layout::contiguous, Layout::masked}) {
      Fixture fixture;
      const Problem problem{type, layout, shape.n, shape.k, shape.groups};
      auto executor = warmup::GroupedExecutor::open(fixture.context, problem, shape.largest_m);
      REQUIRE(executor);
      body(fixture, *executor);
    }
  }
}

constexpr Shape small{200, 256, 3, 300};

}  // namespace

TEST_CASE("An executor allocates exactly the bytes of its layout") {
  std::mt19937_64 engine(5);
  for (int i = 0; i < 100; ++i) {
    const Shape shape{static_cast<std::int64_t>(8 * (engine() % 2000 + 1)),
                      static_cast<std::int64_t>(128 * (engine() % 64 + 1)),
                      static_cast<std::int32_t>(engine() % 64 + 1), static_cast<std::int64_t>(engine() % 20000 + 1)};
    for_each_family(shape, [&](Fixture&, const warmup::GroupedExecutor& executor) {
      std::size_t sum = 0;
      for (const std::size_t bytes : fake_gpu().allocated) sum += bytes;
      const auto layout = warmup::executor_layout(executor.problem(), shape.largest_m);
      REQUIRE(layout);
      CHECK(layout->bytes == static_cast<std::int64_t>(sum));
      CHECK(fake_gpu().allocations.size() == 1);
    });
    CHECK(fake_gpu().allocations.empty());
  }
}

TEST_CASE("An execution allocates no memory") {
  for_each_family(small, [](Fixture& fixture, warmup::GroupedExecutor& executor) {
    for (const std::int64_t m : {1, 64, 300}) {
      const auto verdict = fixture.execute(executor, m);
      REQUIRE(verdict);
      CHECK(verdict->complaint == "");
    }
    CHECK(fake_gpu().allocated.size() == 1);
  });
}

TEST_CASE("An execution launches its kernel once, after the transposition of FP8 scales") {
  for_each_family(small, [](Fixture& fixture, warmup::GroupedExecutor& executor) {
    const bool fp8 = executor.problem().data_type == DataType::fp8;
    const std::string family = jit::operation_name(executor.problem());
    for (const std::int64_t m : {1, 50, 300}) {
      const int before = test::launches_of(family);
      REQUIRE(fixture.execute(executor, m));
      CHECK(test::launches_of(family) == before + 1);
    }
    CHECK(test::launches_of("fp8_transpose_scales") == (fp8 ? 3 : 0));
    CHECK(fixture.context.launches == (fp8 ? 6 : 3));
  });
}

TEST_CASE("m may exceed the capacity in the masked layout, where it is a hint, but not in the contiguous one") {
  for_each_family(small, [](Fixture& fixture, warmup::GroupedExecutor& executor) {
    const bool masked = executor.problem().layout == Layout::masked;
    const auto verdict = fixture.execute(executor, 4096);
    CHECK(verdict.has_value() == masked);
    CHECK_FALSE(fixture.execute(executor, 0));
    CHECK_FALSE(fixture.execute(executor, -5));
  });
}

TEST_CASE("Each execution draws new operands and compares rows of them") {
  for_each_family(small, [](Fixture& fixture, warmup::GroupedExecutor& executor) {
    const auto one = fixture.execute(executor, 300);
    const auto other = fixture.execute(executor, 300);
    REQUIRE(one);
    REQUIRE(other);
    const auto compared = [](const warmup::Verdict& verdict) {
      std::vector<std::uint64_t> counts;
      for (const auto& sums : verdict.groups) counts.push_back(sums.compared);
      return counts;
    };
    CHECK(compared(*one) != compared(*other));
    CHECK(compared(*one) != std::vector<std::uint64_t>(3, 0));
  });
}

TEST_CASE("A verdict reports a product that differs from the reference, and a write to an invalid row") {
  for_each_family(small, [](Fixture& fixture, warmup::GroupedExecutor& executor) {
    fake_gpu().wrong = jit::operation_name(executor.problem());
    const auto differs = fixture.execute(executor, 300);
    REQUIRE(differs);
    CHECK(differs->complaint.find("differs from the reference") != std::string::npos);
    fake_gpu().wrong.clear();
    fake_gpu().strays = true;
    const auto strays = fixture.execute(executor, 300);
    REQUIRE(strays);
    CHECK(strays->complaint == "3 elements written in rows not valid");
  });
}

TEST_CASE("A kernel that does not finish is an error after the deadline") {
  for_each_family(small, [](Fixture& fixture, warmup::GroupedExecutor& executor) {
    fake_gpu().hangs = true;
    const auto verdict = fixture.execute(executor, 1);
    REQUIRE_FALSE(verdict);
    CHECK(verdict.error().message.find("did not end within 50 ms") != std::string::npos);
    CHECK(fixture.watch.hung());
    fake_gpu().hangs = false;  // so that the test can free its memory
  });
}

TEST_CASE("Opening an executor fails without enough memory, and for a problem that no kernel supports") {
  Fixture fixture;
  fake_gpu().total_bytes = std::size_t{8} << 20;
  const auto error_of = [&](DataType type, std::int64_t n, std::int64_t k, std::int64_t largest_m) {
    const auto executor = warmup::GroupedExecutor::open(fixture.context, {type, Layout::masked, n, k, 8}, largest_m);
    REQUIRE_FALSE(executor);
    return executor.error().code;
  };
  CHECK(error_of(DataType::bf16, 4096, 4096, 1) == ErrorCode::driver_failed);
  CHECK(error_of(DataType::fp8, 4096, 64, 1) == ErrorCode::unsupported);
  CHECK(error_of(DataType::bf16, 128, 64, 0) == ErrorCode::invalid_argument);
  CHECK(fake_gpu().allocations.empty());
}
