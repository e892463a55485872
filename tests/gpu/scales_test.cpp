// Tests of the scales of FP8 operands.
#include "gpu/gpu.hpp"

namespace cubinet::tests {
namespace {

constexpr Problem kScaledContiguous{DataType::fp8, Layout::contiguous, 264, 384, 3};
constexpr Problem kScaledMasked{DataType::fp8, Layout::masked, 264, 384, 3};

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// Sets row `row` of the loaded contiguous plan and its scales, in both layouts, to zero.
void clear_row(Gpu& gpu, std::int64_t row) {
  const auto& driver = gpu.driver();
  const CUstream stream = gpu.verifier().stream();
  const auto zero_scales = [&](ScaleOrder order) {
    const ScaleTensor scales = gpu.verifier().contiguous_arguments(order).a_scales;
    for (std::int64_t block = 0; block < scales.shape[1]; ++block) {
      const std::int64_t at = row * scales.strides[0] + block * scales.strides[1];
      REQUIRE(driver.cuMemsetD32Async(address(scales.data) + static_cast<CUdeviceptr>(4 * at), 0, 1, stream) ==
              CUDA_SUCCESS);
    }
  };
  zero_scales(ScaleOrder::column_major);
  zero_scales(ScaleOrder::row_major);
  const CUdeviceptr bytes =
      address(gpu.verifier().contiguous_arguments().a) + static_cast<CUdeviceptr>(row * kScaledContiguous.k);
  REQUIRE(driver.cuMemsetD8Async(bytes, 0, static_cast<std::size_t>(kScaledContiguous.k), stream) == CUDA_SUCCESS);
}

// The number of elements of an output row that are not zero.
int nonzeros(Gpu& gpu, std::int64_t row) {
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(kScaledContiguous.n));
  const CUdeviceptr at =
      address(gpu.verifier().contiguous_arguments().d) + static_cast<CUdeviceptr>(2 * row * kScaledContiguous.n);
  REQUIRE(gpu.driver().cuMemcpyDtoH(bits.data(), at, 2 * bits.size()) == CUDA_SUCCESS);
  int count = 0;
  for (const std::uint16_t element : bits) count += (element & 0x7fffu) != 0 ? 1 : 0;
  return count;
}

struct Refusal {
  ErrorCode code = ErrorCode::invalid_argument;
  std::string message;
};

// The error of a launch that must be refused.
template <class Arguments>
Refusal refusal(Gpu& gpu, const GroupedGemm& gemm, const Arguments& arguments) {
  const auto status = gemm.launch(arguments, gpu.verifier().stream());
  REQUIRE_FALSE(status);
  return {status.error().code, status.error().message};
}

}  // namespace

TEST_CASE("every M and capacity works with row-major and column-major scales", "[scales]") {
  CUBINET_GPU(gpu);
  if (!gpu.wants(DataType::fp8)) return;
  const auto contiguous = gpu.prepare(kScaledContiguous, {1, kLargestM});
  for (const std::size_t m : {1u, 2u, 3u, 5u, 63u, 127u, 130u, 1001u}) {
    INFO("m " << m);
    CHECK(gpu.complaint(contiguous, contiguous_plan(kScaledContiguous, std::vector<std::int32_t>(m, 2))) == "");
  }
  const auto masked = gpu.prepare(kScaledMasked, {1, kLargestM});
  for (const std::int32_t capacity : {1, 2, 3, 5, 63, 65, 130, 257}) {
    INFO("capacity " << capacity);
    CHECK(gpu.complaint(masked, masked_plan(kScaledMasked, {capacity, 0, (capacity + 1) / 2}, capacity)) == "");
  }
}

TEST_CASE("a valid row of zeros with scales of 0 gives exact zeros", "[scales][small]") {
  CUBINET_GPU(gpu);
  if (!gpu.wants(DataType::fp8)) return;
  const auto gemm = gpu.prepare(kScaledContiguous, {1, kLargestM});
  auto& verifier = gpu.verifier();
  REQUIRE(verifier.load(contiguous_plan(kScaledContiguous, padded_m_indices({100, 0, 200}))));
  for (const std::int64_t row : {0, 99, 131}) clear_row(gpu, row);
  for (const ScaleOrder order : orders(DataType::fp8)) {
    INFO(name(order) << " scales");
    const auto verdict =
        verifier.run("rows of zeros", [&](CUstream stream) { return launch(gemm, verifier, 1, stream, order); });
    REQUIRE(verdict);
    CHECK(verdict->complaint == "");
    for (const std::int64_t row : {0, 99, 131}) CHECK(nonzeros(gpu, row) == 0);
    CHECK(nonzeros(gpu, 1) > 0);
  }
}

TEST_CASE("invalid scales are refused by name, and later launches work", "[scales]") {
  CUBINET_GPU(gpu);
  if (!gpu.wants(DataType::fp8)) return;
  const auto gemm = gpu.prepare(kScaledMasked, {1, 64});
  const auto plan = masked_plan(kScaledMasked, {30, 1, 7}, 30);
  REQUIRE(gpu.verifier().load(plan));
  const MaskedArguments good = gpu.verifier().masked_arguments(8);
  const MaskedArguments row_major = gpu.verifier().masked_arguments(8, ScaleOrder::row_major);

  MaskedArguments bad = good;
  bad.a_scales.type = ScaleType::ue8m0;
  const Refusal packed = refusal(gpu, gemm, bad);
  CHECK(packed.code == ErrorCode::unsupported);
  INFO(packed.message);
  CHECK(packed.message.find("UE8M0") != std::string::npos);

  bad = good;
  bad.a_scales = {};
  CHECK(refusal(gpu, gemm, bad).message.find("a_scales") != std::string::npos);
  bad = good;
  bad.b_scales.shape[1] = 2;
  CHECK(refusal(gpu, gemm, bad).message.find("b_scales") != std::string::npos);
  bad = good;
  bad.a_scales.strides[2] = 31;
  CHECK(refusal(gpu, gemm, bad).message.find("a_scales") != std::string::npos);
  bad = good;
  bad.a_scales.data = static_cast<const float*>(good.a_scales.data) + 1;
  CHECK(refusal(gpu, gemm, bad).message.find("a_scales") != std::string::npos);
  bad = row_major;
  bad.workspace.bytes -= 4;
  CHECK(refusal(gpu, gemm, bad).message.find("workspace") != std::string::npos);
  bad.workspace = {};
  CHECK(refusal(gpu, gemm, bad).message.find("workspace") != std::string::npos);

  CHECK(gpu.complaint(gemm, plan) == "");
}

}  // namespace cubinet::tests
