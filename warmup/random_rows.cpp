#include "warmup/random_rows.hpp"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace cubinet::warmup {
namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  // In [low, high].
  std::int32_t between(std::int64_t low, std::int64_t high) {
    return static_cast<std::int32_t>(std::uniform_int_distribution<std::int64_t>(low, high)(engine_));
  }
  bool once_in(std::int64_t times) { return between(1, times) == 1; }

 private:
  std::mt19937_64 engine_;
};

constexpr std::int64_t kBlock = contiguous_alignment();

// The group of each block of rows.
std::vector<std::int32_t> owners_of(std::int64_t blocks, std::int32_t groups, Dice& dice) {
  std::vector<std::int32_t> owners(static_cast<std::size_t>(blocks));
  for (std::int32_t& owner : owners) owner = dice.between(0, groups - 1);
  std::sort(owners.begin(), owners.end());
  return owners;
}

}  // namespace

RowPlan random_contiguous_plan(const Problem& problem, std::int64_t rows, std::uint64_t seed) {
  Dice dice(seed);
  const auto owners = owners_of((rows + kBlock - 1) / kBlock, problem.groups, dice);
  std::vector<std::int32_t> labels(static_cast<std::size_t>(rows), -1);
  for (std::size_t block = 0; block < owners.size(); ++block) {
    if (block != 0 && dice.once_in(8)) continue;
    const bool ends = block + 1 == owners.size() || owners[block + 1] != owners[block];
    const std::int64_t first = static_cast<std::int64_t>(block) * kBlock;
    const std::int64_t count = std::min(ends ? dice.between(1, kBlock) : kBlock, rows - first);
    std::fill_n(labels.begin() + first, count, owners[block]);
  }
  return contiguous_plan(problem, std::move(labels));
}

RowPlan random_masked_plan(const Problem& problem, std::int64_t capacity, std::uint64_t seed) {
  Dice dice(seed);
  std::vector<std::int32_t> counts(static_cast<std::size_t>(problem.groups));
  for (std::int32_t& count : counts) count = dice.between(0, capacity);
  counts[static_cast<std::size_t>(dice.between(0, problem.groups - 1))] = static_cast<std::int32_t>(capacity);
  return masked_plan(problem, std::move(counts), capacity);
}

}  // namespace cubinet::warmup
