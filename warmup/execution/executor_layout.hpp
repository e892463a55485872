// The places of an executor's tensors in its one allocation of device memory. Arithmetic, no device.
#pragma once

#include <cstdint>
#include <optional>

#include "cubinet/problem.hpp"

namespace cubinet::warmup {

// A part of an executor's allocation.
struct Extent {
  std::int64_t offset = 0;  // a multiple of 256
  std::int64_t bytes = 0;
};

// The tensors of one problem with M rows of A (contiguous layout), or M rows per group, the capacity (masked layout).
// R is the number of rows of A in all, G the number of groups, C = K / 128.
struct ExecutorLayout {
  Extent a;                // R * K elements
  Extent b;                // G * N * K elements
  Extent d;                // R * N bf16
  Extent grouping;         // int32: m_indices (M) or masked_m (G)
  Extent a_scales;         // FP8 only: FP32 (R, C), row-major
  Extent scale_workspace;  // FP8 only: the same scales column-major, each column of a group aligned to 4 rows
  Extent b_scales;         // FP8 only: FP32 (G, N / 128 rounded up, C)
  Extent valid;            // read by the check: one byte per row of A
  Extent row_list;         // read by the check: one int32 per row
  Extent tiles;            // read by the check: one RowTile per 64 rows, and one per group
  Extent sums;             // written by the check: GroupSums per group
  Extent writes;           // written by the check: WriteCounts[2]
  std::int64_t bytes = 0;  // size of the allocation
};

// None if no kernel can run: m < 1, A with 2^31 rows or more, or more than 2^62 bytes. The size grows with m and with
// the number of groups. Precondition: can_run(problem).
std::optional<ExecutorLayout> executor_layout(const Problem& problem, std::int64_t m);

}  // namespace cubinet::warmup
