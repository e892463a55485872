#include "warmup/execution/random_rows.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "warmup/execution/dice.hpp"

namespace cubinet::warmup {
namespace {

constexpr std::int64_t kBlock = contiguous_alignment();

// The group of each block of rows.
std::vector<std::int32_t> owners_of(std::int64_t blocks, std::int32_t groups, Dice& dice) {
  std::vector<std::int32_t> owners(static_cast<std::size_t>(blocks));
  for (std::int32_t& owner : owners) owner = static_cast<std::int32_t>(dice.between(0, groups - 1));
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
  for (std::int32_t& count : counts) count = static_cast<std::int32_t>(dice.between(0, capacity));
  counts[static_cast<std::size_t>(dice.between(0, problem.groups - 1))] = static_cast<std::int32_t>(capacity);
  return masked_plan(problem, std::move(counts), capacity);
}

}  // namespace cubinet::warmup
