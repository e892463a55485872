#include "warmup/execution/host_quantization.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cubinet/scales.hpp"

namespace cubinet::warmup {
namespace {

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

// A rectangle of 128 columns in a matrix of k columns.
struct Block {
  std::int64_t first_row;
  std::int64_t rows;
  std::int64_t first_column;
};

// Quantizes the block into `q`. The result is its scale.
float quantize(const std::vector<std::uint16_t>& x, std::int64_t k, const Block& block, std::vector<std::uint8_t>& q) {
  const auto for_each = [&](const auto& body) {
    for (std::int64_t row = block.first_row; row < block.first_row + block.rows; ++row) {
      for (std::int64_t c = 0; c < scale_block(); ++c) body(static_cast<std::size_t>(row * k + block.first_column + c));
    }
  };
  float amax = 0;
  for_each([&](std::size_t at) { amax = std::max(amax, std::abs(from_bf16(x[at]))); });
  const float scale = std::max(amax, 1e-10f) / 448.0f;
  for_each([&](std::size_t at) { q[at] = e4m3_of(from_bf16(x[at]) / scale); });
  return scale;
}

}  // namespace

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

std::uint8_t e4m3_of(float value) {
  const auto sign = std::signbit(value) ? 0x80u : 0u;
  const double magnitude = std::min(std::abs(static_cast<double>(value)), 448.0);
  // Numbers with the same exponent are 2^(exponent - 3) apart; those below 2^-6 are spaced as if their exponent were
  // -6.
  int exponent = magnitude == 0 ? -6 : std::max(std::ilogb(magnitude), -6);
  auto steps = static_cast<unsigned>(std::nearbyint(std::ldexp(magnitude, 3 - exponent)));
  if (steps == 16) {
    steps = 8;
    ++exponent;
  }
  const unsigned code = steps < 8 ? steps : (static_cast<unsigned>(exponent + 7) << 3) + steps - 8;
  return static_cast<std::uint8_t>(sign | code);
}

HostQuantized quantize_rows_on_host(const std::vector<std::uint16_t>& x, std::int64_t rows, std::int64_t k) {
  HostQuantized result{std::vector<std::uint8_t>(x.size()), {}};
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < k; column += scale_block()) {
      result.scales.push_back(quantize(x, k, {row, 1, column}, result.q));
    }
  }
  return result;
}

HostQuantized quantize_weights_on_host(const std::vector<std::uint16_t>& w, std::int64_t groups, std::int64_t n,
                                       std::int64_t k) {
  HostQuantized result{std::vector<std::uint8_t>(w.size()), {}};
  for (std::int64_t group = 0; group < groups; ++group) {
    for (std::int64_t row = 0; row < n; row += scale_block()) {
      const std::int64_t rows = std::min(scale_block(), n - row);
      for (std::int64_t column = 0; column < k; column += scale_block()) {
        result.scales.push_back(quantize(w, k, {group * n + row, rows, column}, result.q));
      }
    }
  }
  return result;
}

}  // namespace cubinet::warmup
