// Tests that the verifier detects the errors that the other tests rely on it to detect.
#include "gpu/gpu.hpp"

namespace cubinet::tests {
namespace {

constexpr std::int64_t kN = 264;
constexpr std::int64_t kCapacity = 40;
constexpr std::uint16_t kWrong = 0x7149;  // 1e30 as bf16: far from any sum of either type
constexpr std::uint16_t kNan = 0x7fff;

Problem problem_of(DataType type, std::int64_t k = 512) { return {type, Layout::masked, kN, k, 3}; }

warmup::RowPlan plan_of(const Problem& problem) { return masked_plan(problem, {40, 0, 7}, kCapacity); }

// The complaint after a correct launch if `value` is then written to the element of D at `offset`.
std::string complaint_after(Gpu& gpu, DataType type, std::int64_t offset, std::uint16_t value) {
  auto& verifier = gpu.verifier();
  const auto gemm = gpu.prepare(problem_of(type), {8, 8});
  const auto verdict = verifier.load(plan_of(problem_of(type))).and_then([&] {
    return verifier.run("a launch and a stray write", [&](CUstream stream) {
      const auto base = reinterpret_cast<std::intptr_t>(verifier.masked_arguments(8).d);
      const auto at = static_cast<CUdeviceptr>(base + 2 * offset);
      return launch(gemm, verifier, 8, stream).and_then([&] {
        return gpu.driver().check(gpu.driver().cuMemsetD16Async(at, value, 1, stream), "cuMemsetD16Async");
      });
    });
  });
  return verdict ? verdict->complaint : verdict.error().message;
}

// The complaint after a correct FP8 launch if the scale of A or of B at `place` is then changed.
std::string complaint_after_scale(Gpu& gpu, bool of_a, std::int64_t place) {
  constexpr unsigned eight = 0x41000000;  // at least twice any scale of the verifier
  auto& verifier = gpu.verifier();
  const Problem problem = problem_of(DataType::fp8, 128);
  const auto gemm = gpu.prepare(problem, {8, 8});
  const auto verdict = verifier.load(plan_of(problem)).and_then([&] {
    return verifier.run("a launch and another scale", [&](CUstream stream) {
      const auto arguments = verifier.masked_arguments(8, ScaleOrder::row_major);  // the layout that the judge reads
      const auto base = reinterpret_cast<CUdeviceptr>(of_a ? arguments.a_scales.data : arguments.b_scales.data);
      const CUdeviceptr at = base + static_cast<CUdeviceptr>(4 * place);
      return launch(gemm, verifier, 8, stream).and_then([&] {
        return gpu.driver().check(gpu.driver().cuMemsetD32Async(at, eight, 1, stream), "cuMemsetD32Async");
      });
    });
  });
  return verdict ? verdict->complaint : verdict.error().message;
}

}  // namespace

TEST_CASE("an output that is not written is detected", "[judge]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  REQUIRE(gpu.verifier().load(plan_of(problem_of(type))));
  const auto verdict = gpu.verifier().run("nothing", [](CUstream) { return Expected<void>{}; });
  REQUIRE(verdict);
  CHECK(verdict->writes.unwritten == 47u * 264u);
  CHECK_FALSE(verdict->right());
}

TEST_CASE("one wrong element in a valid row is detected", "[judge]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  CHECK(mentions(complaint_after(gpu, type, (2 * kCapacity + 6) * kN + 263, kWrong), "group 2"));
  CHECK(mentions(complaint_after(gpu, type, 0, kNan), "group 0: 1 of 10560 elements are NaN"));
}

TEST_CASE("a write to a padding row is detected", "[judge]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  CHECK(mentions(complaint_after(gpu, type, (2 * kCapacity + 7) * kN, kWrong), "1 elements written in rows"));
  CHECK(mentions(complaint_after(gpu, type, kCapacity * kN + 100, 0), "1 elements written in rows"));
}

TEST_CASE("a write just outside the output is detected", "[judge]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  CHECK(mentions(complaint_after(gpu, type, -1, 0), "1 elements written outside"));
  CHECK(mentions(complaint_after(gpu, type, 3 * kCapacity * kN, 0), "1 elements written outside"));
}

TEST_CASE("one wrong scale of a row or block is detected", "[judge]") {
  CUBINET_GPU(gpu);
  if (!gpu.wants(DataType::fp8)) return;
  CHECK(mentions(complaint_after_scale(gpu, true, 2 * kCapacity + 6), "group 2"));
  CHECK(mentions(complaint_after_scale(gpu, true, 0), "group 0"));
  CHECK(mentions(complaint_after_scale(gpu, false, 2), "group 0"));  // the block of the last 8 columns
  CHECK(mentions(complaint_after_scale(gpu, false, 2 * 3 + 1), "group 2"));
}

TEST_CASE("one bit that differs between two outputs is detected", "[judge]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  auto& verifier = gpu.verifier();
  const auto gemm = gpu.prepare(problem_of(type), {8, 8});
  REQUIRE(verifier.load(plan_of(problem_of(type))));
  const auto run = [&](CUstream stream) { return launch(gemm, verifier, 8, stream); };
  REQUIRE(verifier.run("a launch", run));
  REQUIRE(verifier.set_output_aside());
  REQUIRE(verifier.run("the same launch", run));
  CHECK(verifier.count_differences().value_or(1) == 0u);
  const auto change = [&](std::int64_t element) {
    const auto at =
        reinterpret_cast<CUdeviceptr>(verifier.masked_arguments(8).d) + static_cast<CUdeviceptr>(2 * element);
    std::uint16_t bits = 0;
    REQUIRE(gpu.driver().cuMemcpyDtoH(&bits, at, sizeof bits) == CUDA_SUCCESS);
    bits ^= 1u;
    REQUIRE(gpu.driver().cuMemcpyHtoD(at, &bits, sizeof bits) == CUDA_SUCCESS);
    REQUIRE(gpu.driver().cuCtxSynchronize() == CUDA_SUCCESS);
  };
  change((2 * kCapacity + 7) * kN);  // in a padding row
  CHECK(verifier.count_differences().value_or(1) == 0u);
  change((2 * kCapacity + 6) * kN + kN - 1);
  CHECK(verifier.count_differences().value_or(0) == 1u);
}

}  // namespace cubinet::tests
