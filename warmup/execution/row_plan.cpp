#include "warmup/execution/row_plan.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "cubinet/scales.hpp"
#include "jit/selector.hpp"

namespace cubinet::warmup {
namespace {

constexpr std::int64_t kRowsPerTile = cubinet_verification::kTileRows;

void require(bool condition, const char* message) {
  if (!condition) throw std::logic_error(message);
}

// The valid rows of each group, ascending.
std::vector<std::vector<std::int32_t>> rows_by_group(const RowPlan& plan) {
  std::vector<std::vector<std::int32_t>> groups(static_cast<std::size_t>(plan.problem.groups));
  for (std::int64_t row = 0; row < plan.rows; ++row) {
    if (!plan.valid[static_cast<std::size_t>(row)]) continue;
    const std::int64_t group =
        plan.problem.layout == Layout::masked ? row / plan.capacity : plan.selectors[static_cast<std::size_t>(row)];
    groups[static_cast<std::size_t>(group)].push_back(static_cast<std::int32_t>(row));
  }
  return groups;
}

}  // namespace

std::int64_t RowPlan::valid_rows() const { return std::accumulate(valid.begin(), valid.end(), std::int64_t{0}); }

double RowPlan::flop() const {
  return 2.0 * static_cast<double>(valid_rows()) * static_cast<double>(problem.n) * static_cast<double>(problem.k);
}

double RowPlan::bytes() const {
  const std::int64_t element = jit::element_bytes(problem.data_type);
  const std::int64_t rows_read = valid_rows();
  std::int64_t bytes = element * problem.k * (problem.groups * problem.n + rows_read) + 2 * rows_read * problem.n;
  if (problem.data_type == DataType::fp8) {
    bytes += 4 * scale_blocks(problem.k) * (problem.groups * scale_blocks(problem.n) + rows_read);
  }
  return static_cast<double>(bytes);
}

std::vector<std::int32_t> contiguous_labels(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int32_t> labels;
  std::int32_t group = 0;
  for (const std::int64_t size : sizes) {
    labels.insert(labels.end(), static_cast<std::size_t>(size), group++);
    while (labels.size() % static_cast<std::size_t>(contiguous_alignment()) != 0) labels.push_back(-1);
  }
  return labels;
}

RowPlan contiguous_plan(const Problem& problem, std::vector<std::int32_t> labels) {
  require(problem.layout == Layout::contiguous, "contiguous_plan: the problem's layout is another");
  RowPlan plan{problem, static_cast<std::int64_t>(labels.size()), 0, std::move(labels), {}};
  plan.valid.reserve(plan.selectors.size());
  for (const std::int32_t label : plan.selectors) {
    require(label >= -1 && label < problem.groups, "contiguous_plan: a label is neither -1 nor a group");
    plan.valid.push_back(label >= 0 ? 1 : 0);
  }
  return plan;
}

RowPlan masked_plan(const Problem& problem, std::vector<std::int32_t> masked_m, std::int64_t capacity) {
  require(problem.layout == Layout::masked, "masked_plan: the problem's layout is another");
  require(static_cast<std::int32_t>(masked_m.size()) == problem.groups, "masked_plan: one count per group is needed");
  RowPlan plan{problem, problem.groups * capacity, capacity, std::move(masked_m), {}};
  plan.valid.resize(static_cast<std::size_t>(plan.rows), 0);
  auto head = plan.valid.begin();
  for (const std::int32_t count : plan.selectors) {
    require(count >= 0 && count <= capacity, "masked_plan: a count is outside [0, capacity]");
    std::fill_n(head, count, std::uint8_t{1});
    head += capacity;
  }
  return plan;
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
