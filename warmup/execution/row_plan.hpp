// Which rows of a problem are valid and to which group they belong: arithmetic on the host, no device.
#pragma once

#include <cstdint>
#include <vector>

#include "cubinet/problem.hpp"
#include "templates/shared/verification.cuh"

namespace cubinet::warmup {

using cubinet_verification::RowTile;

struct RowPlan {
  Problem problem;
  std::int64_t rows = 0;                // of A and D: M, or groups * capacity
  std::int64_t capacity = 0;            // masked layout only
  std::vector<std::int32_t> selectors;  // m_indices or masked_m, as the layout wants it
  std::vector<std::uint8_t> valid;      // per row of A: 1 when a kernel must write it

  [[nodiscard]] std::int64_t valid_rows() const;
  // 2 * valid rows * N * K.
  [[nodiscard]] double flop() const;
  // What has to cross the memory bus at least once: the weights of every group, the valid rows of A and of D,
  // and the scales of both operands where there are any.
  [[nodiscard]] double bytes() const;
};

// The row list and its tiles: every valid row under its group, at most 64 rows to a tile. With `step` > 1 only every
// step-th valid row of a group and its last one are listed.
struct RowTiles {
  std::vector<std::int32_t> rows;
  std::vector<RowTile> tiles;
};

// Labels of segments of `sizes` rows, each padded with -1 to contiguous_alignment().
std::vector<std::int32_t> contiguous_labels(const std::vector<std::int64_t>& sizes);

// Any labels: -1 or a group. Precondition: each label is in [-1, groups).
RowPlan contiguous_plan(const Problem& problem, std::vector<std::int32_t> labels);

// Precondition: masked_m has one entry per group, each in [0, capacity].
RowPlan masked_plan(const Problem& problem, std::vector<std::int32_t> masked_m, std::int64_t capacity);

RowTiles tiles_of(const RowPlan& plan, std::int64_t step = 1);

}  // namespace cubinet::warmup
