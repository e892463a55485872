// Rows dealt out at random, as a router deals tokens to experts.
#pragma once

#include <cstdint>

#include "cubinet/problem.hpp"
#include "warmup/execution/row_plan.hpp"

namespace cubinet::warmup {

// `rows` labels: groups ascending in segments of whole blocks of contiguous_alignment() rows, the last block of a
// segment padded with -1, and here and there a block of -1 alone. At least one row is valid. Preconditions: the layout
// is contiguous, rows >= 1.
RowPlan random_contiguous_plan(const Problem& problem, std::int64_t rows, std::uint64_t seed);

// Counts of [0, capacity], one of them the capacity itself. Preconditions: the layout is masked, capacity >= 1.
RowPlan random_masked_plan(const Problem& problem, std::int64_t capacity, std::uint64_t seed);

}  // namespace cubinet::warmup
