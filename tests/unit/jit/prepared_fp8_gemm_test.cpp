// Tests of FP8 launches: scales are checked, and transposed if they are row-major.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "catch.hpp"
#include "fake_driver.hpp"
#include "jit/families/registry.hpp"
#include "jit/prepared_gemm.hpp"

using namespace cubinet;
using test::address;

namespace {

using Names = std::vector<std::string>;
using Parameters = std::vector<std::uint64_t>;

constexpr Problem kFp8Contiguous{DataType::fp8, Layout::contiguous, 576, 512, 2};
constexpr Problem kFp8Masked{DataType::fp8, Layout::masked, 576, 512, 2};

constexpr std::uint64_t kOperand = 0x10000000;
constexpr std::uint64_t kRows = 0x20000;  // m_indices, masked_m
constexpr std::uint64_t kTokenScales = 0x30000;
constexpr std::uint64_t kWeightScales = 0x800000;
constexpr std::uint64_t kWorkspace = 0x1000000;

const float* floats(std::uint64_t number) { return static_cast<const float*>(address(number)); }

template <class T>
T must(Expected<T> value) {
  if (!value) throw std::runtime_error(value.error().message);
  return std::move(*value);
}

// A GEMM with one kernel for every M.
jit::PreparedGemm prepared_fp8(const Problem& problem) {
  const auto device = test::make_fake_context();
  const jit::KernelSpec spec = jit::families().select(problem, 64);
  auto kernel = must(jit::load_kernel<jit::GemmKernel>(device, spec, "cubin"));
  auto quantization =
      must(jit::load_kernel<jit::QuantizationKernels>(device, jit::families().quantization("sm_90a")->spec(), "cubin"));
  const auto table =
      std::make_shared<jit::KernelTable>(problem, std::vector<jit::KernelTable::Row>{{{1, 1 << 20}, spec}});
  table->set(0, std::move(kernel));
  return {device, table->range(), table, std::move(quantization)};
}

// Sets everything but the rows; the weights' scales are valid.
template <class Arguments>
Arguments with_scales(const ScaleTensor& a_scales, std::int64_t workspace_bytes) {
  Arguments arguments;
  arguments.a = arguments.b = arguments.d = address(kOperand);
  arguments.a_scales = a_scales;
  arguments.b_scales = weight_scales(floats(kWeightScales), 2, 576, 512);
  arguments.workspace = {address(kWorkspace), workspace_bytes};
  return arguments;
}

ContiguousArguments contiguous_arguments(std::int64_t m, const ScaleTensor& a_scales) {
  auto arguments = with_scales<ContiguousArguments>(a_scales, scale_workspace_bytes(1, m, 512));
  arguments.m_indices = static_cast<const std::int32_t*>(address(kRows));
  arguments.m = m;
  return arguments;
}

MaskedArguments masked_arguments(std::int64_t capacity, const ScaleTensor& a_scales) {
  auto arguments = with_scales<MaskedArguments>(a_scales, scale_workspace_bytes(2, capacity, 512));
  arguments.masked_m = static_cast<const std::int32_t*>(address(kRows));
  arguments.capacity = capacity;
  arguments.expected_m = 8;
  return arguments;
}

Names launched() {
  Names names;
  for (const auto& launch : test::fake_device().history) names.push_back(launch.name);
  return names;
}

// Whether this address is a parameter of the latest launch, which must be that of a GEMM.
bool is_given(std::uint64_t wanted) {
  const Parameters& block = test::fake_device().history.back().parameters;
  return std::find(block.begin(), block.end(), wanted) != block.end();
}

template <class Arguments>
std::string refusal(const Arguments& arguments, ErrorCode code = ErrorCode::invalid_argument) {
  const auto outcome =
      prepared_fp8(std::is_same_v<Arguments, MaskedArguments> ? kFp8Masked : kFp8Contiguous).launch(arguments, nullptr);
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == code);
  CHECK(test::fake_device().history.empty());
  CHECK(test::fake_device().pushes == test::fake_device().pops);
  return outcome.error().message;
}

}  // namespace

TEST_CASE("Column-major scales are passed to the kernel directly and need no workspace") {
  const auto contiguous = prepared_fp8(kFp8Contiguous);
  auto arguments = contiguous_arguments(5, column_major_scales(floats(kTokenScales), 5, 512));
  arguments.workspace = {};
  REQUIRE(contiguous.launch(arguments, nullptr));
  CHECK(launched() == Names{"fp8_grouped_contiguous"});
  CHECK(is_given(kTokenScales));
  CHECK(is_given(kWeightScales));
  const auto masked = prepared_fp8(kFp8Masked);
  auto others = masked_arguments(5, column_major_scales(floats(kTokenScales), 5, 512, 2));
  others.workspace = {};
  REQUIRE(masked.launch(others, nullptr));
  CHECK(launched() == Names{"fp8_grouped_masked"});
}

TEST_CASE("num_sms limits the transposition of scales as well") {
  const auto gemm = prepared_fp8(kFp8Contiguous);
  const auto ctas = [&](int num_sms) {
    auto arguments = contiguous_arguments(100'000, row_major_scales(floats(kTokenScales), 100'000, 512));
    arguments.workspace = {address(kWorkspace), scale_workspace_bytes(1, 100'000, 512)};
    arguments.num_sms = num_sms;
    test::fake_device().history.clear();
    REQUIRE(gemm.launch(arguments, nullptr));
    return test::fake_device().history.front().ctas;
  };
  CHECK(ctas(1) == 1);
  CHECK(ctas(100) == 100);
  CHECK(ctas(0) > 132);
  CHECK(ctas(0) == ctas(1000));
}

TEST_CASE("Row-major scales are transposed into the workspace before the GEMM, on the same stream") {
  const auto gemm = prepared_fp8(kFp8Contiguous);
  auto* const stream = reinterpret_cast<CUstream>(0x77);
  REQUIRE(gemm.launch(contiguous_arguments(70, row_major_scales(floats(kTokenScales), 70, 512)), stream));
  CHECK(launched() == Names{"fp8_transpose_scales", "fp8_grouped_contiguous"});
  const auto& transposition = test::fake_device().history.front();
  CHECK(transposition.parameters == Parameters{kTokenScales, kWorkspace, 0, 1, 70, 4});
  CHECK(transposition.ctas == 2);
  CHECK(transposition.threads == 256);
  CHECK(transposition.stream == stream);
  CHECK(test::fake_device().history.back().stream == stream);
  CHECK(is_given(kWorkspace));
  CHECK(is_given(kWeightScales));
  CHECK_FALSE(is_given(kTokenScales));
}

TEST_CASE("Row-major scales of the masked layout are transposed per group, for its valid rows only") {
  const auto gemm = prepared_fp8(kFp8Masked);
  REQUIRE(gemm.launch(masked_arguments(70, row_major_scales(floats(kTokenScales), 70, 512, 2)), nullptr));
  CHECK(launched() == Names{"fp8_transpose_scales", "fp8_grouped_masked"});
  CHECK(test::fake_device().history.front().parameters == Parameters{kTokenScales, kWorkspace, kRows, 2, 70, 4});
  CHECK(test::fake_device().history.front().ctas == 4);
  CHECK(is_given(kWorkspace));
  CHECK_FALSE(is_given(kTokenScales));
}

TEST_CASE("Whether the scales of a single row are transposed depends on their stride") {
  const auto gemm = prepared_fp8(kFp8Contiguous);
  REQUIRE(gemm.launch(contiguous_arguments(1, column_major_scales(floats(kTokenScales), 1, 512)), nullptr));
  CHECK(launched() == Names{"fp8_grouped_contiguous"});
  test::fake_device().history.clear();
  REQUIRE(gemm.launch(contiguous_arguments(1, row_major_scales(floats(kTokenScales), 1, 512)), nullptr));
  CHECK(launched() == Names{"fp8_transpose_scales", "fp8_grouped_contiguous"});
}

TEST_CASE("A workspace that is missing, too small or misaligned is refused with the required size") {
  const ScaleTensor row_major = row_major_scales(floats(kTokenScales), 5, 512);
  auto arguments = contiguous_arguments(5, row_major);
  arguments.workspace = {};
  CHECK(refusal(arguments) == "workspace is null: row-major a_scales need 128 bytes to be transposed into");
  arguments.workspace = {address(kWorkspace), 127};
  CHECK(refusal(arguments) == "workspace has 127 bytes: row-major a_scales need 128 bytes to be transposed into");
  arguments.workspace = {address(kWorkspace + 4), 128};
  CHECK(refusal(arguments) == "workspace is not aligned to 16 bytes");
  auto others = masked_arguments(5, row_major_scales(floats(kTokenScales), 5, 512, 2));
  others.workspace.bytes -= 1;
  CHECK(refusal(others) == "workspace has 255 bytes: row-major a_scales need 256 bytes to be transposed into");
}

TEST_CASE("A workspace that overlaps the scales is refused, and one that is adjacent is accepted") {
  const std::int64_t bytes = 4 * 5 * 4;  // of the row-major scales
  auto arguments = contiguous_arguments(5, row_major_scales(floats(kTokenScales), 5, 512));
  for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{-112}, bytes - 16}) {
    arguments.workspace.data = address(kTokenScales + static_cast<std::uint64_t>(offset));
    CHECK(refusal(arguments) == "workspace overlaps a_scales: row-major a_scales are transposed into it");
  }
  for (const std::int64_t offset : {std::int64_t{-128}, bytes}) {
    arguments.workspace.data = address(kTokenScales + static_cast<std::uint64_t>(offset));
    CHECK(prepared_fp8(kFp8Contiguous).launch(arguments, nullptr));
  }
}

TEST_CASE("A workspace that overlaps an operand of the GEMM is refused by the operand's name") {
  const auto refused = [](auto arguments, const void* place, const std::string& name) {
    arguments.workspace.data = const_cast<void*>(place);
    CHECK(refusal(arguments) == "workspace overlaps " + name + ": row-major a_scales are transposed into it");
  };
  auto contiguous = contiguous_arguments(5, row_major_scales(floats(kTokenScales), 5, 512));
  contiguous.b = address(0x40000000);
  contiguous.d = address(0x80000000);
  refused(contiguous, contiguous.a, "a");
  refused(contiguous, address(0x40000000 + 2 * 576 * 512 - 16), "b");
  refused(contiguous, address(0x80000000 + 2 * 5 * 576 - 16), "d");
  refused(contiguous, contiguous.m_indices, "m_indices");
  refused(contiguous, contiguous.b_scales.data, "b_scales");
  auto masked = masked_arguments(5, row_major_scales(floats(kTokenScales), 5, 512, 2));
  masked.b = address(0x40000000);
  masked.d = address(0x80000000);
  refused(masked, address(kOperand + 2 * 5 * 512 - 16), "a");
  refused(masked, address(0x80000000 + 2 * 2 * 5 * 576 - 16), "d");
  refused(masked, masked.masked_m, "masked_m");
}

TEST_CASE("Wrong scales of either operand are refused by the operand's name") {
  CHECK(refusal(contiguous_arguments(5, {})) == "a_scales is missing: expected FP32 scales (rows, K / 128) = (5, 4)");
  CHECK(refusal(contiguous_arguments(6, row_major_scales(floats(kTokenScales), 5, 512))) ==
        "a_scales has shape (5, 4): expected FP32 scales (rows, K / 128) = (6, 4)");
  auto arguments = masked_arguments(5, column_major_scales(floats(kTokenScales), 5, 512, 2));
  arguments.b_scales = weight_scales(floats(kWeightScales), 2, 512, 512);
  CHECK(refusal(arguments) ==
        "b_scales has shape (2, 4, 4): expected FP32 scales (groups, ceil(N / 128), K / 128) = (2, 5, 4)");
  arguments = masked_arguments(5, column_major_scales(floats(kTokenScales), 5, 512, 2));
  arguments.a_scales.type = ScaleType::ue8m0;
  CHECK(refusal(arguments, ErrorCode::unsupported).find("a_scales holds UE8M0 scales") == 0);
}

TEST_CASE("Scales for a BF16 GEMM are refused") {
  Problem problem = kFp8Contiguous;
  problem.data_type = DataType::bf16;
  auto arguments = contiguous_arguments(5, row_major_scales(floats(kTokenScales), 5, 512));
  CHECK_FALSE(prepared_fp8(problem).launch(arguments, nullptr));
  arguments.a_scales = arguments.b_scales = {};
  CHECK(prepared_fp8(problem).launch(arguments, nullptr));
  CHECK(launched() == Names{"bf16_grouped_contiguous"});
}

TEST_CASE("With zero rows nothing is launched, and no scales are needed") {
  CHECK(prepared_fp8(kFp8Contiguous).launch(ContiguousArguments{}, nullptr));
  CHECK(prepared_fp8(kFp8Masked).launch(MaskedArguments{}, nullptr));
  CHECK(test::fake_device().history.empty());
}

TEST_CASE("If the transposition cannot be launched, the GEMM is not launched") {
  const auto gemm = prepared_fp8(kFp8Contiguous);
  test::fake_device().launch_result = CUDA_ERROR_LAUNCH_FAILED;
  const auto outcome = gemm.launch(contiguous_arguments(5, row_major_scales(floats(kTokenScales), 5, 512)), nullptr);
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == ErrorCode::driver_failed);
  CHECK(outcome.error().message.find("launching fp8_transpose_scales") == 0);
  CHECK(launched() == Names{"fp8_transpose_scales"});
}
