// Values in rows that are not valid stay where they are.
#include "gpu/gpu.hpp"

namespace cubinet::tests {
namespace {

// The bits of D's rows.
std::vector<std::uint16_t> read_output(Gpu& gpu, const void* d, std::size_t elements) {
  std::vector<std::uint16_t> bits(elements);
  const auto& driver = gpu.driver();
  REQUIRE(driver.cuMemcpyDtoH(bits.data(), reinterpret_cast<CUdeviceptr>(d), 2 * elements) == CUDA_SUCCESS);
  return bits;
}

void zero_invalid_rows(Gpu& gpu, const void* a, const warmup::RowPlan& plan) {
  const auto& driver = gpu.driver();
  const auto base = reinterpret_cast<CUdeviceptr>(a);
  for (std::int64_t row = 0; row < plan.rows; ++row) {
    if (plan.valid[static_cast<std::size_t>(row)]) continue;
    const auto at = base + static_cast<CUdeviceptr>(2 * row * plan.problem.k);
    REQUIRE(driver.cuMemsetD16Async(at, 0, static_cast<std::size_t>(plan.problem.k), gpu.verifier().stream()) ==
            CUDA_SUCCESS);
  }
}

// Computes with spoiled padding and with zeros there; the whole output must agree to the bit.
void check_padding(Gpu& gpu, const warmup::RowPlan& plan) {
  auto& verifier = gpu.verifier();
  const auto gemm = gpu.prepare(plan.problem, {1, 8192});
  const auto run = [&](CUstream stream) { return launch(gemm, verifier, 16, stream); };
  const bool masked = plan.problem.layout == Layout::masked;
  REQUIRE(verifier.load(plan));
  const void* a = masked ? verifier.masked_arguments(1).a : verifier.contiguous_arguments().a;
  const void* d = masked ? verifier.masked_arguments(1).d : verifier.contiguous_arguments().d;
  const auto elements = static_cast<std::size_t>(plan.rows * plan.problem.n);

  const auto spoiled = verifier.run("spoiled padding", run);
  REQUIRE(spoiled);
  CHECK(spoiled->complaint == "");
  const auto first = read_output(gpu, d, elements);
  zero_invalid_rows(gpu, a, plan);
  const auto zeroed = verifier.run("zeros in the padding", run);
  REQUIRE(zeroed);
  CHECK(zeroed->complaint == "");
  CHECK(first == read_output(gpu, d, elements));
}

}  // namespace

TEST_CASE("NaN and huge values in padding rows change no bit of a valid row", "[padding]") {
  CUBINET_GPU(gpu);
  const auto labels = contiguous_labels({1, 0, 100, 129, 64, 300});
  check_padding(gpu, contiguous_plan({DataType::bf16, Layout::contiguous, 264, 320, 6}, labels));
}

TEST_CASE("NaN and huge values beyond masked_m change no bit of a valid row", "[padding]") {
  CUBINET_GPU(gpu);
  check_padding(gpu, masked_plan({DataType::bf16, Layout::masked, 264, 320, 6}, {1, 0, 100, 129, 64, 7}, 130));
}

}  // namespace cubinet::tests
