// The rows of a grouped GEMM: which of them are valid, and to which group each belongs. Pure functions, no device.
#pragma once

#include <cstdint>
#include <vector>

#include "cubinet/problem.hpp"
#include "templates/shared/verification.cuh"

namespace cubinet::warmup {

using cubinet_verification::RowTile;
inline constexpr std::int64_t kRowsPerTile = cubinet_verification::kTileRows;

struct RowPlan {
  Problem problem;
  std::int64_t rows = 0;      // rows of A and D: M in the contiguous layout, groups * capacity in the masked one
  std::int64_t capacity = 0;  // rows per group; masked layout only
  std::vector<std::int32_t> grouping;  // m_indices (contiguous layout) or masked_m (masked layout)
  std::vector<std::uint8_t> valid;     // one byte per row of A: 1 if a kernel must write the row of D, else 0

  [[nodiscard]] std::int64_t valid_rows() const;
  // Floating-point operations of the product: 2 * valid_rows() * N * K.
  [[nodiscard]] double flop() const;
};

// The rows that the reference kernel compares. `rows` lists valid rows, group by group; `tiles` cuts the list into
// pieces of one group with at most kRowsPerTile rows each.
struct RowTiles {
  std::vector<std::int32_t> rows;
  std::vector<RowTile> tiles;
};

// Preconditions: the layout is contiguous; every entry of m_indices is -1 or a group, [0, groups).
RowPlan contiguous_plan(const Problem& problem, std::vector<std::int32_t> m_indices);

// Preconditions: the layout is masked; masked_m has one entry per group, each in [0, capacity].
RowPlan masked_plan(const Problem& problem, std::vector<std::int32_t> masked_m, std::int64_t capacity);

// Random m_indices of `rows` rows. Groups ascend in segments of whole blocks of contiguous_alignment() rows, the last
// block of a segment is padded with -1, and about one block in eight holds only -1. At least one row is valid. The same
// seed gives the same plan. Preconditions: the layout is contiguous, rows >= 1.
RowPlan random_contiguous_plan(const Problem& problem, std::int64_t rows, std::uint64_t seed);

// Random masked_m with entries in [0, capacity]; at least one entry equals the capacity. The same seed gives the same
// plan. Preconditions: the layout is masked, capacity >= 1.
RowPlan random_masked_plan(const Problem& problem, std::int64_t capacity, std::uint64_t seed);

// Every valid row of the plan. With `step` > 1, only every step-th valid row of each group, and the last one of each.
RowTiles tiles_of(const RowPlan& plan, std::int64_t step = 1);

}  // namespace cubinet::warmup
