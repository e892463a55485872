// Tests of a family that only tests register, from its plan through NVRTC and the cabinet to a launch.
#include "support/naive_family.hpp"

#include <cstring>
#include <memory>
#include <stdexcept>

#include "catch.hpp"
#include "jit/compiler.hpp"
#include "jit/engine.hpp"
#include "jit/kernel_facts.hpp"
#include "jit/provide.hpp"
#include "unit/jit/fake_driver.hpp"
#include "unit/util/temp_folder.hpp"
#include "warmup/planning/plan.hpp"

using namespace cubinet;

namespace {

constexpr Problem kProblem{DataType::bf16, Layout::masked, 40, 24, 3};

// The arguments of the latest launch.
struct Launch {
  unsigned ctas = 0;
  unsigned threads = 0;
  std::vector<std::uint64_t> parameters;
};
Launch latest;

// A fake device whose driver records the launch.
std::shared_ptr<const jit::DeviceContext> recording_device() {
  auto driver = std::make_shared<jit::Driver>(*test::make_fake_driver());
  driver->cuLaunchKernel = [](CUfunction, unsigned ctas, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                              unsigned, CUstream, void** parameters, void**) {
    latest = {ctas, threads, std::vector<std::uint64_t>(8)};
    for (std::size_t i = 0; i < latest.parameters.size(); ++i) std::memcpy(&latest.parameters[i], parameters[i], 8);
    return CUDA_SUCCESS;
  };
  auto context = jit::DeviceContext::retain(driver, 0);
  if (!context) throw std::runtime_error(context.error().message);
  return std::make_shared<const jit::DeviceContext>(std::move(*context));
}

MaskedArguments some_arguments() {
  MaskedArguments arguments;
  arguments.a = reinterpret_cast<const void*>(0x10000);
  arguments.b = reinterpret_cast<const void*>(0x20000);
  arguments.d = reinterpret_cast<void*>(0x30000);
  arguments.masked_m = reinterpret_cast<const std::int32_t*>(0x40000);
  arguments.capacity = 1000;
  arguments.expected_m = 8;
  return arguments;
}

}  // namespace

TEST_CASE("A family that only the tests define works from a plan through the cabinet to a launch") {
  const auto& families = test::naive_registry();
  warmup::PlanRequest request;
  request.problems = {{kProblem, {1, 4096}}};
  request.generic = true;
  const auto plan = warmup::make_plan(request, families);
  REQUIRE(plan);
  REQUIRE(plan->kernels.size() == 1);
  const jit::KernelSpec& spec = plan->kernels.front().spec;
  CHECK(spec.family == &test::naive_family());
  CHECK(jit::describe(spec) == "naive_masked any N, K x128");
  const std::string record = jit::record_of(spec);
  CHECK(record.find(R"("constants":{"kThreads":128},"family":"naive_masked")") != std::string::npos);
  CHECK(families.spec_of(record) == spec);

  const test::TempFolder folder;
  auto cabinet = cache::Cabinet::open(folder.path() / "root", true);
  REQUIRE(cabinet);
  auto nvrtc = jit::NvrtcCompiler::open({}, "");
  REQUIRE(nvrtc);
  const auto provided = jit::provide(spec, **nvrtc, &*cabinet);
  INFO((provided ? "" : provided.error().message + provided.error().detail));
  REQUIRE(provided);
  CHECK(provided->compiled);
  CHECK(jit::kernel_facts(provided->object.facts).kernel_names == std::vector<std::string>{"naive_masked"});

  jit::EngineParts parts;
  parts.device = recording_device();
  parts.cabinet = std::move(*cabinet);
  parts.miss = MissPolicy::error;  // shows that the kernel comes from the cabinet
  parts.families = &families;
  jit::Engine engine(std::move(parts));
  const auto gemm = engine.prepare(kProblem, {1, 4096}, nullptr);
  REQUIRE(gemm);
  REQUIRE(gemm->launch(some_arguments(), nullptr));
  CHECK(latest.threads == 128);
  CHECK(latest.ctas == (3 * 1000 * 40 + 127) / 128);
  CHECK(latest.parameters == std::vector<std::uint64_t>{0x10000, 0x20000, 0x30000, 0x40000, 3, 1000, 40, 24});
  auto few = some_arguments();
  few.num_sms = 2;
  REQUIRE(gemm->launch(few, nullptr));
  CHECK(latest.ctas == 16);
}

TEST_CASE("A problem without a family in the registry is refused with its operation and architecture") {
  const Problem contiguous{DataType::bf16, Layout::contiguous, 40, 24, 3};
  const auto refused = test::naive_registry().can_run(contiguous);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::unsupported);
  CHECK(refused.error().message == "there is no bf16_grouped_contiguous kernel for sm_90a");
  CHECK(test::naive_registry().quantization("sm_90a") == nullptr);
}
