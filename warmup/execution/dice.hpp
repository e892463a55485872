// Seeded drawing of test problems and operands' rows.
#pragma once

#include <cstdint>
#include <random>

namespace cubinet::warmup {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  // In [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  // True once in `times`.
  bool once_in(std::int64_t times) { return between(1, times) == 1; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace cubinet::warmup
