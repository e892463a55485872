// Generates problems for GPU tests and benchmarks.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "warmup/execution/row_plan.hpp"

namespace cubinet::test {

// A seeded random number generator. The same seed gives the same sequence.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  // A random number in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  // True with probability 1 / times.
  bool once_in(std::int64_t times) { return between(1, times) == 1; }

 private:
  std::mt19937_64 engine_;
};

// m_indices for groups with `sizes` rows in ascending order of groups. Each group is padded with -1 to a multiple of
// contiguous_alignment() rows.
std::vector<std::int32_t> padded_m_indices(const std::vector<std::int64_t>& sizes);

// The minimal memory traffic in bytes: the weights of all groups, the valid rows of A and D, and the scales of both
// operands if there are any.
double least_bytes_moved(const warmup::RowPlan& plan);

}  // namespace cubinet::test
