// Helpers of the GPU tests and the benchmarks that make up problems.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "warmup/execution/row_plan.hpp"

namespace cubinet::test {

// Seeded random numbers. The same seed gives the same sequence.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  // A number in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  // True with probability 1 / times.
  bool once_in(std::int64_t times) { return between(1, times) == 1; }

 private:
  std::mt19937_64 engine_;
};

// m_indices for groups of `sizes` rows, group 0 first; each group is padded with -1 to contiguous_alignment() rows.
std::vector<std::int32_t> padded_m_indices(const std::vector<std::int64_t>& sizes);

// Bytes that have to cross the memory bus at least once: the weights of every group, the valid rows of A and of D, and
// the scales of both operands where there are any.
double least_bytes_moved(const warmup::RowPlan& plan);

}  // namespace cubinet::test
