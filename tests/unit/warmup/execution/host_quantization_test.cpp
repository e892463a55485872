// Tests of the host quantization, which is the reference for the quantization kernels.
#include "warmup/execution/host_quantization.hpp"

#include <bit>
#include <cmath>

#include "catch.hpp"

namespace {

using namespace cubinet::warmup;

// The value of an e4m3fn code, by the format's definition.
double value_of(unsigned code) {
  const double sign = (code & 0x80u) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(code >> 3 & 0xfu);
  const double mantissa = code & 7u;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10));
}

std::uint16_t bf16_bits(float value) { return static_cast<std::uint16_t>(bits_of(value) >> 16); }

}  // namespace

TEST_CASE("Finite e4m3 values are encoded exactly, and others are rounded to nearest, ties to even") {
  for (unsigned code = 0; code < 0x7e; ++code) {
    const double low = value_of(code), high = value_of(code + 1);
    CHECK(e4m3_of(static_cast<float>(low)) == code);
    CHECK(e4m3_of(static_cast<float>(-low)) == (code | 0x80u));
    CHECK(e4m3_of(static_cast<float>(0.6 * low + 0.4 * high)) == code);
    CHECK(e4m3_of(static_cast<float>(0.4 * low + 0.6 * high)) == code + 1);
    CHECK(e4m3_of(static_cast<float>((low + high) / 2)) == (code % 2 == 0 ? code : code + 1));
  }
  CHECK(e4m3_of(448) == 0x7e);
  CHECK(e4m3_of(1e30f) == 0x7e);
}

TEST_CASE("A row of 128 columns is scaled so that its largest magnitude is 448") {
  std::vector<std::uint16_t> x(256, bf16_bits(1.0f));
  x[5] = bf16_bits(-14.0f);
  const HostQuantized result = quantize_rows_on_host(x, 2, 128);
  REQUIRE(result.scales.size() == 2);
  CHECK(result.scales[0] == 14.0f / 448);
  CHECK(result.q[5] == 0xfe);
  CHECK(result.q[0] == e4m3_of(32));
  CHECK(result.scales[1] == 1.0f / 448);
  CHECK(result.q[128] == 0x7e);
}

TEST_CASE("Weights are scaled by blocks of 128 rows, and the last block may have fewer") {
  std::vector<std::uint16_t> w(130 * 128, bf16_bits(1.0f));
  w[129 * 128] = bf16_bits(2.0f);
  const HostQuantized result = quantize_weights_on_host(w, 1, 130, 128);
  REQUIRE(result.scales.size() == 2);
  CHECK(result.scales[0] == 1.0f / 448);
  CHECK(result.scales[1] == 2.0f / 448);
  CHECK(result.q[129 * 128] == 0x7e);
}

TEST_CASE("Zeros are quantized to zeros, with a positive scale") {
  const HostQuantized result = quantize_rows_on_host(std::vector<std::uint16_t>(128, 0), 1, 128);
  CHECK(result.scales[0] > 0);
  CHECK(result.q == std::vector<std::uint8_t>(128, 0));
}
