// The executors, on a fake GPU whose kernels agree with the reference unless a test says otherwise.
#include "warmup/execution/executor.hpp"

#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.hpp"
#include "fake_gpu.hpp"
#include "jit/kernel_spec.hpp"
#include "jit/loader.hpp"
#include "unit/jit/fake_compiler.hpp"
#include "unit/jit/fake_driver.hpp"

namespace {

using namespace cubinet;
using test::fake_gpu;
using warmup::Bf16GroupedContiguousExecutor;
using warmup::Bf16GroupedMaskedExecutor;
using warmup::Fp8GroupedContiguousExecutor;
using warmup::Fp8GroupedMaskedExecutor;

template <class T>
T must(Expected<T> value) {
  if (!value) throw std::runtime_error(value.error().message);
  return std::move(*value);
}

// A fake GPU with all that executors work with.
struct Shop {
  std::shared_ptr<const jit::DeviceContext> device = test::make_fake_gpu();
  jit::CurrentContext current{*device};
  test::FakeCompiler compiler;
  warmup::DeviceWatch watch = must(warmup::DeviceWatch::start(device->driver(), std::chrono::milliseconds(50)));
  warmup::VerificationKernels verification = must(warmup::VerificationKernels::open(device, compiler, nullptr));
  jit::QuantizationKernels quantization = must(jit::QuantizationKernels::load(device, "cubin", "sm_90a"));
  std::vector<jit::LoadedKernel> loaded;
  std::vector<jit::TileConfig> asked_for;
  warmup::ExecutorBench bench{
      *device,
      watch,
      verification,
      &quantization,
      nullptr,
      [this](const Problem& problem, const jit::TileConfig& config) -> Expected<jit::LaunchableKernel> {
        asked_for.push_back(config);
        auto kernel = jit::load_kernel(device, jit::spec_for(problem, config, "sm_90a"), "cubin");
        if (!kernel) return propagate(kernel);
        loaded.push_back(std::move(*kernel));
        return loaded.back().launchable;
      }};
};

// Opens an executor of each family in turn.
template <class Body>
void for_each_family(const warmup::ExecutorShape& shape, const Body& body) {
  const auto with = [&](auto open) {
    Shop shop;
    auto executor = open(shop.bench, shape);
    REQUIRE(executor);
    body(shop, *executor);
  };
  with(Bf16GroupedContiguousExecutor::open);
  with(Bf16GroupedMaskedExecutor::open);
  with(Fp8GroupedContiguousExecutor::open);
  with(Fp8GroupedMaskedExecutor::open);
}

constexpr warmup::ExecutorShape small{200, 256, 3, 300};

}  // namespace

TEST_CASE("The bytes that an executor requires are the bytes that it allocates, whatever its sizes") {
  std::mt19937_64 engine(5);
  for (int i = 0; i < 100; ++i) {
    const warmup::ExecutorShape shape{
        static_cast<std::int64_t>(8 * (engine() % 2000 + 1)), static_cast<std::int64_t>(128 * (engine() % 64 + 1)),
        static_cast<std::int32_t>(engine() % 64 + 1), static_cast<std::int64_t>(engine() % 20000 + 1)};
    for_each_family(shape, [&](Shop&, const warmup::GroupedExecutor& executor) {
      std::size_t sum = 0;
      for (const std::size_t bytes : fake_gpu().allocated) sum += bytes;
      CHECK(executor.required_bytes(shape.largest_m) == static_cast<std::int64_t>(sum));
      CHECK(fake_gpu().allocations.size() == 1);
    });
    CHECK(fake_gpu().allocations.empty());
  }
}

TEST_CASE("An executor allocates nothing more while it executes") {
  for_each_family(small, [](Shop&, warmup::GroupedExecutor& executor) {
    for (const std::int64_t m : {1, 64, 300}) {
      const auto verdict = executor.execute(m);
      REQUIRE(verdict);
      CHECK(verdict->complaint == "");
    }
    CHECK(fake_gpu().allocated.size() == 1);
  });
}

TEST_CASE("Executing m launches the kernel that m selects, once, after the transposition of FP8 scales") {
  for_each_family(small, [](Shop& shop, warmup::GroupedExecutor& executor) {
    const bool fp8 = executor.problem().data_type == DataType::fp8;
    const std::string family = jit::family_of(executor.problem());
    for (const std::int64_t m : {1, 50, 300}) {
      const int before = test::launches_of(family);
      REQUIRE(executor.execute(m));
      CHECK((shop.asked_for.back() == jit::select(executor.problem(), m, {})));
      CHECK(test::launches_of(family) == before + 1);
    }
    CHECK(test::launches_of("fp8_transpose_scales") == (fp8 ? 3 : 0));
    CHECK(shop.bench.launches == (fp8 ? 6 : 3));
  });
}

TEST_CASE("In the masked layout m hints and may exceed the capacity, which in the contiguous one it may not") {
  for_each_family(small, [](Shop& shop, warmup::GroupedExecutor& executor) {
    const bool masked = executor.problem().layout == Layout::masked;
    const auto verdict = executor.execute(4096);
    CHECK(verdict.has_value() == masked);
    if (masked) CHECK((shop.asked_for.back() == jit::select(executor.problem(), 4096, {})));
    CHECK_FALSE(executor.execute(0));
    CHECK_FALSE(executor.execute(-5));
  });
}

TEST_CASE("Every execution has operands of its own, and compares rows of them") {
  for_each_family(small, [](Shop&, warmup::GroupedExecutor& executor) {
    const auto one = executor.execute(300);
    const auto other = executor.execute(300);
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

TEST_CASE("A product that differs from the reference, and a write where no row is valid, are complained of") {
  for_each_family(small, [](Shop&, warmup::GroupedExecutor& executor) {
    fake_gpu().wrong = jit::family_of(executor.problem());
    const auto differs = executor.execute(300);
    REQUIRE(differs);
    CHECK(differs->complaint.find("differs from the reference") != std::string::npos);
    fake_gpu().wrong.clear();
    fake_gpu().strays = true;
    const auto strays = executor.execute(300);
    REQUIRE(strays);
    CHECK(strays->complaint == "3 elements written in rows not valid");
  });
}

TEST_CASE("A kernel that does not end is an error after the deadline, not a wait") {
  for_each_family(small, [](Shop& shop, warmup::GroupedExecutor& executor) {
    fake_gpu().hangs = true;
    const auto verdict = executor.execute(1);
    REQUIRE_FALSE(verdict);
    CHECK(verdict.error().message.find("did not end within 50 ms") != std::string::npos);
    CHECK(shop.watch.hung());
    fake_gpu().hangs = false;  // so that the test can give back what it holds
  });
}

TEST_CASE("An executor that no memory is left for is an error, and so is one that no kernel can serve") {
  Shop shop;
  fake_gpu().total_bytes = std::size_t{8} << 20;
  const auto large = Bf16GroupedMaskedExecutor::open(shop.bench, {4096, 4096, 8, 1});
  REQUIRE_FALSE(large);
  CHECK(large.error().code == ErrorCode::driver_failed);
  CHECK(Fp8GroupedMaskedExecutor::open(shop.bench, {4096, 64, 8, 1}).error().code == ErrorCode::unsupported);
  CHECK(Bf16GroupedMaskedExecutor::open(shop.bench, {128, 64, 8, 0}).error().code == ErrorCode::invalid_argument);
  CHECK(fake_gpu().allocations.empty());
}
