#include "gpu/quantization.hpp"

#include <cmath>

namespace cubinet::tests {
namespace {

std::uint16_t to_bf16(float value) { return static_cast<std::uint16_t>(bits_of(value) >> 16); }

}  // namespace

std::vector<std::uint16_t> draw_tensor(Random& random, std::int64_t rows, std::int64_t k) {
  std::vector<std::uint16_t> x;
  x.reserve(static_cast<std::size_t>(rows * k));
  for (std::int64_t block = 0; block < rows * k / scale_block(); ++block) {
    const bool zero = random.once_in(10);
    const auto size = static_cast<int>(random.once_in(10) ? random.between(-60, -40) : random.between(-20, 20));
    for (std::int64_t c = 0; c < scale_block(); ++c) {
      const auto fraction = static_cast<float>(random.between(-1000000, 1000000)) / 1000000.0f;
      const int shrink = random.once_in(4) ? static_cast<int>(random.between(0, 20)) : 0;
      x.push_back(zero ? std::uint16_t{0} : to_bf16(std::ldexp(fraction, size - shrink)));
    }
  }
  return x;
}

}  // namespace cubinet::tests
