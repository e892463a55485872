// The judge of the other tests notices what it is there for.
#include "gpu/gpu.hpp"

namespace cubinet::tests {
namespace {

constexpr Problem kProblem{DataType::bf16, Layout::masked, 264, 512, 3};
constexpr std::int64_t kCapacity = 40;
constexpr std::uint16_t kThousand = 0x447a;  // 1000 as bf16: far from a sum of 512 products of sigma 1
constexpr std::uint16_t kNan = 0x7fff;

// What the judge says when, after a right launch, `value` is written to the element of D at `offset`.
std::string complaint_after(Gpu& gpu, std::int64_t offset, std::uint16_t value) {
  auto& verifier = gpu.verifier();
  const auto gemm = gpu.prepare(kProblem, {8, 8});
  const auto verdict = verifier.load(masked_plan(kProblem, {40, 0, 7}, kCapacity)).and_then([&] {
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

bool mentions(const std::string& text, const std::string& part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("an output that is not written is noticed", "[judge]") {
  CUBINET_GPU(gpu);
  REQUIRE(gpu.verifier().load(masked_plan(kProblem, {40, 0, 7}, kCapacity)));
  const auto verdict = gpu.verifier().run("nothing", [](CUstream) { return Expected<void>{}; });
  REQUIRE(verdict);
  CHECK(verdict->writes.unwritten == 47u * 264u);
  CHECK_FALSE(verdict->right());
}

TEST_CASE("one wrong element in a valid row is noticed", "[judge]") {
  CUBINET_GPU(gpu);
  CHECK(mentions(complaint_after(gpu, (2 * kCapacity + 6) * kProblem.n + 263, kThousand), "group 2"));
  CHECK(mentions(complaint_after(gpu, 0, kNan), "group 0: 1 of 10560 elements are NaN"));
}

TEST_CASE("a write to a row that is not valid is noticed", "[judge]") {
  CUBINET_GPU(gpu);
  CHECK(mentions(complaint_after(gpu, (2 * kCapacity + 7) * kProblem.n, kThousand), "1 elements written in rows"));
  CHECK(mentions(complaint_after(gpu, kCapacity * kProblem.n + 100, 0), "1 elements written in rows"));
}

TEST_CASE("a write just outside the output is noticed", "[judge]") {
  CUBINET_GPU(gpu);
  CHECK(mentions(complaint_after(gpu, -1, 0), "1 elements written outside"));
  CHECK(mentions(complaint_after(gpu, 3 * kCapacity * kProblem.n, 0), "1 elements written outside"));
}

}  // namespace cubinet::tests
