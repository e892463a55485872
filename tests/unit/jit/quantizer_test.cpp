#include "jit/quantizer.hpp"
#include "jit/families/registry.hpp"

#include <stdexcept>
#include <string>

#include "catch.hpp"
#include "fake_driver.hpp"

using namespace cubinet;
using test::address;

namespace {

using Parameters = std::vector<std::uint64_t>;

constexpr std::uint64_t kSource = 0x10000;
constexpr std::uint64_t kQuantized = 0x20000;
constexpr std::uint64_t kScales = 0x30000;

const float* scales_address() { return static_cast<const float*>(address(kScales)); }

jit::PreparedQuantizer prepared_quantizer() {
  const auto device = test::make_fake_context();
  const jit::KernelSpec spec = jit::families().quantization("sm_90a")->spec();
  auto kernels = jit::load_kernel<jit::QuantizationKernels>(device, spec, "cubin");
  if (!kernels) throw std::runtime_error(kernels.error().message);
  return {device, std::move(*kernels)};
}

// The parameters of the only launch so far.
Parameters launched(const std::string& name) {
  REQUIRE(test::fake_device().history.size() == 1);
  const test::FakeLaunch launch = test::fake_device().history.front();
  CHECK(launch.name == name);
  CHECK(launch.threads == 256);
  test::fake_device().history.clear();
  return launch.parameters;
}

Expected<void> quantize_rows(const jit::PreparedQuantizer& quantizer, std::int64_t rows, std::int64_t k,
                             const ScaleTensor& scales) {
  return quantizer.quantize_rows(address(kSource), rows, k, address(kQuantized), scales, nullptr);
}

Expected<void> quantize_weights(const jit::PreparedQuantizer& quantizer, std::int64_t groups, std::int64_t n,
                                std::int64_t k, const ScaleTensor& scales) {
  return quantizer.quantize_weights(address(kSource), groups, n, k, address(kQuantized), scales, nullptr);
}

std::string refusal(const Expected<void>& outcome, ErrorCode code = ErrorCode::invalid_argument) {
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == code);
  CHECK(test::fake_device().history.empty());
  return outcome.error().message;
}

}  // namespace

TEST_CASE("Rows are quantized with their scales in either layout") {
  const auto quantizer = prepared_quantizer();
  REQUIRE(quantize_rows(quantizer, 6, 384, row_major_scales(scales_address(), 6, 384)));
  CHECK(launched("fp8_quantize_rows") == Parameters{kSource, kQuantized, kScales, 6, 384, 6, 18, 3, 1});
  REQUIRE(quantize_rows(quantizer, 6, 384, column_major_scales(scales_address(), 6, 384)));
  CHECK(launched("fp8_quantize_rows") == Parameters{kSource, kQuantized, kScales, 6, 384, 6, 24, 1, 8});
}

TEST_CASE("Rows of several groups are quantized with scales per group") {
  const auto quantizer = prepared_quantizer();
  REQUIRE(quantize_rows(quantizer, 10, 256, row_major_scales(scales_address(), 5, 256, 2)));
  CHECK(launched("fp8_quantize_rows") == Parameters{kSource, kQuantized, kScales, 10, 256, 5, 10, 2, 1});
  REQUIRE(quantize_rows(quantizer, 10, 256, column_major_scales(scales_address(), 5, 256, 2)));
  CHECK(launched("fp8_quantize_rows") == Parameters{kSource, kQuantized, kScales, 10, 256, 5, 16, 1, 8});
  REQUIRE(quantize_rows(quantizer, 1, 128, column_major_scales(scales_address(), 1, 128, 1)));
  CHECK(launched("fp8_quantize_rows") == Parameters{kSource, kQuantized, kScales, 1, 128, 1, 4, 1, 4});
}

TEST_CASE("Weights are quantized, with a full or partial last block of N") {
  const auto quantizer = prepared_quantizer();
  REQUIRE(quantize_weights(quantizer, 3, 577, 512, weight_scales(scales_address(), 3, 577, 512)));
  CHECK(launched("fp8_quantize_weights") == Parameters{kSource, kQuantized, kScales, 3, 577, 512});
}

TEST_CASE("A quantization has as many CTAs as it has work for, up to the number that the device can hold") {
  const auto quantizer = prepared_quantizer();
  REQUIRE(quantize_rows(quantizer, 1, 128, row_major_scales(scales_address(), 1, 128)));
  CHECK(test::fake_device().history.back().ctas == 1);
  REQUIRE(quantize_rows(quantizer, 33, 128, row_major_scales(scales_address(), 33, 128)));
  CHECK(test::fake_device().history.back().ctas == 2);
  REQUIRE(quantize_rows(quantizer, 1 << 20, 7168, row_major_scales(scales_address(), 1 << 20, 7168)));
  CHECK(test::fake_device().history.back().ctas == 132 * 8);
  REQUIRE(quantize_weights(quantizer, 2, 129, 256, weight_scales(scales_address(), 2, 129, 256)));
  CHECK(test::fake_device().history.back().ctas == 8);
}

TEST_CASE("A quantization goes to the given stream, and the device's context is current during the call") {
  const auto quantizer = prepared_quantizer();
  auto* const stream = reinterpret_cast<CUstream>(0x77);
  const int pushes = test::fake_device().pushes;
  REQUIRE(quantizer.quantize_rows(address(kSource), 4, 128, address(kQuantized),
                                  row_major_scales(scales_address(), 4, 128), stream));
  REQUIRE(quantizer.quantize_weights(address(kSource), 1, 8, 128, address(kQuantized),
                                     weight_scales(scales_address(), 1, 8, 128), stream));
  CHECK(test::fake_device().history[0].stream == stream);
  CHECK(test::fake_device().history[1].stream == stream);
  CHECK(test::fake_device().pushes == pushes + 2);
  CHECK(test::fake_device().current == nullptr);
}

TEST_CASE("An empty quantization launches nothing, without an error") {
  const auto quantizer = prepared_quantizer();
  CHECK(quantizer.quantize_rows(nullptr, 0, 128, nullptr, {}, nullptr));
  CHECK(quantizer.quantize_weights(nullptr, 0, 128, 128, nullptr, {}, nullptr));
  CHECK(quantizer.quantize_weights(nullptr, 3, 0, 128, nullptr, {}, nullptr));
  CHECK(test::fake_device().history.empty());
}

TEST_CASE("A K that is not a multiple of 128 is refused with the rule") {
  const auto quantizer = prepared_quantizer();
  for (const std::int64_t k : {0, -128, 64, 192, 129}) {
    INFO("K " << k);
    const std::string rows =
        refusal(quantize_rows(quantizer, 4, k, row_major_scales(scales_address(), 4, 256)), ErrorCode::unsupported);
    CHECK(rows.find("multiple of 128") != std::string::npos);
    CHECK(rows.find("K=" + std::to_string(k)) != std::string::npos);
    const std::string weights = refusal(
        quantize_weights(quantizer, 1, 8, k, weight_scales(scales_address(), 1, 8, 256)), ErrorCode::unsupported);
    CHECK(weights == rows);
  }
}

TEST_CASE("Sizes that are negative or too large are refused by name") {
  const auto quantizer = prepared_quantizer();
  const ScaleTensor none;
  CHECK(refusal(quantize_rows(quantizer, -1, 128, none)) == "rows is negative: -1");
  CHECK(refusal(quantize_rows(quantizer, std::int64_t{1} << 31, 128, none)).find("rows is 2147483648") == 0);
  CHECK(refusal(quantize_weights(quantizer, -1, 8, 128, none)) == "groups is negative: -1");
  CHECK(refusal(quantize_weights(quantizer, 1, -8, 128, none)) == "N is negative: -8");
  CHECK(refusal(quantize_weights(quantizer, 65536, 65536, 128, none)) ==
        "groups * N must stay below 2^31: groups=65536, N=65536");
}

TEST_CASE("A null or misaligned tensor is refused by name") {
  const auto quantizer = prepared_quantizer();
  const ScaleTensor rows = row_major_scales(scales_address(), 4, 128);
  CHECK(refusal(quantizer.quantize_rows(nullptr, 4, 128, address(kQuantized), rows, nullptr)) == "x is null");
  CHECK(refusal(quantizer.quantize_rows(address(kSource), 4, 128, address(kQuantized + 8), rows, nullptr)) ==
        "q is not aligned to 16 bytes");
  const ScaleTensor weights = weight_scales(scales_address(), 1, 8, 128);
  CHECK(refusal(quantizer.quantize_weights(address(kSource + 2), 1, 8, 128, address(kQuantized), weights, nullptr)) ==
        "w is not aligned to 16 bytes");
  CHECK(refusal(quantizer.quantize_weights(address(kSource), 1, 8, 128, nullptr, weights, nullptr)) == "q is null");
}

TEST_CASE("Scales that do not fit the tensor are refused by name") {
  const auto quantizer = prepared_quantizer();
  CHECK(refusal(quantize_rows(quantizer, 4, 128, {})).find("scales is missing: ") == 0);
  CHECK(refusal(quantize_rows(quantizer, 4, 128, row_major_scales(nullptr, 4, 128))) == "scales is null");
  CHECK(refusal(quantize_rows(quantizer, 4, 256, row_major_scales(scales_address(), 4, 128))) ==
        "scales has shape (4, 1): expected FP32 scales (rows, K / 128) = (4, 2)");
  CHECK(refusal(quantize_rows(quantizer, 10, 128, row_major_scales(scales_address(), 3, 128, 3))) ==
        "scales has 3 groups, which do not share 10 rows evenly");
  ScaleTensor no_groups = row_major_scales(scales_address(), 3, 128, 3);
  no_groups.shape[0] = 0;
  CHECK(refusal(quantize_rows(quantizer, 9, 128, no_groups)).find("scales has 0 groups") == 0);
  CHECK(refusal(quantize_weights(quantizer, 2, 576, 128, weight_scales(scales_address(), 2, 512, 128))) ==
        "scales has shape (2, 4, 1): expected FP32 scales (groups, ceil(N / 128), K / 128) = (2, 5, 1)");
  ScaleTensor exponents = row_major_scales(scales_address(), 4, 128);
  exponents.type = ScaleType::ue8m0;
  CHECK(refusal(quantize_rows(quantizer, 4, 128, exponents), ErrorCode::unsupported).find("UE8M0") !=
        std::string::npos);
}

TEST_CASE("A quantization that the driver refuses is an error that names the kernel") {
  const auto quantizer = prepared_quantizer();
  test::fake_device().launch_result = CUDA_ERROR_LAUNCH_FAILED;
  const auto outcome = quantize_rows(quantizer, 4, 128, row_major_scales(scales_address(), 4, 128));
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == ErrorCode::driver_failed);
  CHECK(outcome.error().message.find("launching fp8_quantize_rows") == 0);
}
