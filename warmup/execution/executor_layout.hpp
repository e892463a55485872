// What an executor holds in device memory, to the byte: arithmetic, no device.
#pragma once

#include <cstdint>
#include <optional>

#include "cubinet/problem.hpp"

namespace cubinet::warmup {

// A part of an executor's one allocation.
struct Extent {
  std::int64_t offset = 0;  // a multiple of 256
  std::int64_t bytes = 0;
};

// Where everything lies that one problem needs for M rows: of A in the contiguous layout, of each group (the capacity)
// in the masked one. With R rows of A in all, G groups and C = K / 128:
struct ExecutorLayout {
  Extent a;                // R * K elements
  Extent b;                // G * N * K elements
  Extent d;                // R * N bf16
  Extent selectors;        // int32: M labels, or G counts
  Extent row_scales;       // fp8: FP32 (R, C) row-major
  Extent scale_workspace;  // fp8: the same column-major, each column of a group aligned to 4 rows
  Extent weight_scales;    // fp8: FP32 (G, N / 128 rounded up, C)
  Extent valid;            // what the check reads: a byte per row of A,
  Extent row_list;         //   an int32 per row,
  Extent tiles;            //   a RowTile per 64 rows and one per group;
  Extent sums;             // and writes: GroupSums per group,
  Extent writes;           //   WriteCounts
  std::int64_t bytes = 0;  // of the allocation
};

// None where no kernel can run: m < 1, A with 2^31 rows or more, more than 2^62 bytes. Grows with m and with
// the groups. Precondition: can_run(problem).
std::optional<ExecutorLayout> executor_layout(const Problem& problem, std::int64_t m);

}  // namespace cubinet::warmup
