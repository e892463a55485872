// Tests a kernel family that only tests register, on the device.
#include "support/naive_family.hpp"

#include "gpu/gpu.hpp"
#include "jit/engine.hpp"

namespace cubinet::tests {

TEST_CASE("a family that only the tests define can be prepared and launched with correct results", "[small]") {
  CUBINET_GPU(gpu);
  jit::EngineParts parts;
  parts.device = gpu.session().device;
  parts.open_compiler = [] {
    return jit::NvrtcCompiler::open({}).map(
        [](auto compiler) { return std::unique_ptr<jit::Compiler>(std::move(compiler)); });
  };
  parts.families = &test::naive_registry();
  jit::Engine engine(std::move(parts));
  const Problem problem{DataType::bf16, Layout::masked, 136, 192, 3};
  const auto gemm = engine.prepare(problem, {1, 512}, nullptr);
  REQUIRE(gemm);
  auto& verifier = gpu.verifier();
  REQUIRE(verifier.load(masked_plan(problem, {17, 0, 131}, 133)));
  const auto verdict = verifier.run(
      "the naive family", [&](CUstream stream) { return gemm->launch(verifier.masked_arguments(64), stream); });
  REQUIRE(verdict);
  CHECK(verdict->complaint == "");
}

}  // namespace cubinet::tests
