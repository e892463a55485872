#include "warmup/execution/row_plan.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>

namespace cubinet::warmup {
namespace {

constexpr std::int64_t kBlock = contiguous_alignment();

// A random number in [low, high].
std::int64_t draw(std::mt19937_64& engine, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(engine);
}

// A random group for each block of rows, ascending.
std::vector<std::int32_t> groups_of_blocks(std::int64_t blocks, std::int32_t groups, std::mt19937_64& engine) {
  std::vector<std::int32_t> result(static_cast<std::size_t>(blocks));
  for (std::int32_t& group : result) group = static_cast<std::int32_t>(draw(engine, 0, groups - 1));
  std::sort(result.begin(), result.end());
  return result;
}

void require(bool condition, const char* message) {
  if (!condition) throw std::logic_error(message);
}

// The valid rows of each group, ascending.
std::vector<std::vector<std::int32_t>> rows_by_group(const RowPlan& plan) {
  std::vector<std::vector<std::int32_t>> groups(static_cast<std::size_t>(plan.problem.groups));
  for (std::int64_t row = 0; row < plan.rows; ++row) {
    if (!plan.valid[static_cast<std::size_t>(row)]) continue;
    const std::int64_t group =
        plan.problem.layout == Layout::masked ? row / plan.capacity : plan.grouping[static_cast<std::size_t>(row)];
    groups[static_cast<std::size_t>(group)].push_back(static_cast<std::int32_t>(row));
  }
  return groups;
}

}  // namespace

std::int64_t RowPlan::valid_rows() const { return std::accumulate(valid.begin(), valid.end(), std::int64_t{0}); }

double RowPlan::flop() const {
  return 2.0 * static_cast<double>(valid_rows()) * static_cast<double>(problem.n) * static_cast<double>(problem.k);
}

RowPlan contiguous_plan(const Problem& problem, std::vector<std::int32_t> m_indices) {
  require(problem.layout == Layout::contiguous, "contiguous_plan: the problem's layout is not contiguous");
  RowPlan plan{problem, static_cast<std::int64_t>(m_indices.size()), 0, std::move(m_indices), {}};
  plan.valid.reserve(plan.grouping.size());
  for (const std::int32_t group : plan.grouping) {
    require(group >= -1 && group < problem.groups, "contiguous_plan: an entry of m_indices is neither -1 nor a group");
    plan.valid.push_back(group >= 0 ? 1 : 0);
  }
  return plan;
}

RowPlan masked_plan(const Problem& problem, std::vector<std::int32_t> masked_m, std::int64_t capacity) {
  require(problem.layout == Layout::masked, "masked_plan: the problem's layout is not masked");
  require(static_cast<std::int32_t>(masked_m.size()) == problem.groups,
          "masked_plan: masked_m needs one entry per group");
  RowPlan plan{problem, problem.groups * capacity, capacity, std::move(masked_m), {}};
  plan.valid.resize(static_cast<std::size_t>(plan.rows), 0);
  auto head = plan.valid.begin();
  for (const std::int32_t count : plan.grouping) {
    require(count >= 0 && count <= capacity, "masked_plan: an entry of masked_m is outside [0, capacity]");
    std::fill_n(head, count, std::uint8_t{1});
    head += capacity;
  }
  return plan;
}

RowPlan random_contiguous_plan(const Problem& problem, std::int64_t rows, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  const auto groups = groups_of_blocks((rows + kBlock - 1) / kBlock, problem.groups, engine);
  std::vector<std::int32_t> m_indices(static_cast<std::size_t>(rows), -1);
  for (std::size_t block = 0; block < groups.size(); ++block) {
    if (block != 0 && draw(engine, 1, 8) == 1) continue;
    const bool ends = block + 1 == groups.size() || groups[block + 1] != groups[block];
    const std::int64_t first = static_cast<std::int64_t>(block) * kBlock;
    const std::int64_t count = std::min(ends ? draw(engine, 1, kBlock) : kBlock, rows - first);
    std::fill_n(m_indices.begin() + first, count, groups[block]);
  }
  return contiguous_plan(problem, std::move(m_indices));
}

RowPlan random_masked_plan(const Problem& problem, std::int64_t capacity, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<std::int32_t> masked_m(static_cast<std::size_t>(problem.groups));
  for (std::int32_t& rows : masked_m) rows = static_cast<std::int32_t>(draw(engine, 0, capacity));
  masked_m[static_cast<std::size_t>(draw(engine, 0, problem.groups - 1))] = static_cast<std::int32_t>(capacity);
  return masked_plan(problem, std::move(masked_m), capacity);
}

RowTiles tiles_of(const RowPlan& plan, std::int64_t step) {
  RowTiles result;
  std::int32_t group = 0;
  for (const auto& rows : rows_by_group(plan)) {
    const auto first = static_cast<std::int64_t>(result.rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (static_cast<std::int64_t>(i) % step == 0 || i + 1 == rows.size()) result.rows.push_back(rows[i]);
    }
    const auto end = static_cast<std::int64_t>(result.rows.size());
    for (std::int64_t at = first; at < end; at += kRowsPerTile) {
      result.tiles.push_back(
          {group, static_cast<std::int32_t>(at), static_cast<std::int32_t>(std::min(kRowsPerTile, end - at)), 0});
    }
    ++group;
  }
  return result;
}

}  // namespace cubinet::warmup
