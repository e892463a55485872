// The tensors of one grouped GEMM in device memory, and the views of them that launches and the reference take.
#pragma once

#include <cstdint>

#include "cubinet/cubinet.hpp"
#include "cubinet/scales.hpp"
#include "jit/driver.hpp"
#include "warmup/execution/row_plan.hpp"
#include "warmup/execution/verification_kernels.hpp"

namespace cubinet::warmup {

// Memory order of the scales of A; see cubinet/scales.hpp.
enum class ScaleOrder { column_major, row_major };

// A tensor that kernels write, between two guard bands of `band` bytes each that they must not write. Without guard
// bands `band` is 0. All sizes are even.
struct GuardedTensor {
  CUdeviceptr data = 0;
  std::int64_t bytes = 0;
  std::int64_t band = 0;
};

// Addresses in device memory. Does not own it. Addresses of scales are 0 if the operands have none.
struct GemmTensors {
  CUdeviceptr a = 0;
  CUdeviceptr b = 0;
  CUdeviceptr a_scales_columns = 0;  // scales of A, column-major, each column aligned to 4 rows
  CUdeviceptr a_scales_rows = 0;     // the same scales, row-major
  CUdeviceptr b_scales = 0;
  CUdeviceptr grouping = 0;  // m_indices or masked_m, int32
  GuardedTensor d;
  GuardedTensor workspace;  // what a launch or a transposition writes the column-major scales to; 0 bytes for bf16
  // What the check reads:
  CUdeviceptr valid = 0;     // RowPlan::valid
  CUdeviceptr row_list = 0;  // RowTiles::rows, room for all rows
  CUdeviceptr tiles = 0;     // RowTiles::tiles
  // What the check writes:
  CUdeviceptr sums = 0;    // GroupSums per group
  CUdeviceptr writes = 0;  // WriteCounts[2]: in D, and in guard bands
};

// The scales of A have the shape (groups, rows, K / 128). The contiguous layout has one such group.
std::int64_t scale_groups(const RowPlan& plan);
std::int64_t scale_rows(const RowPlan& plan);

// Bytes of the column-major scales of A, which is also the size of the workspace that a launch with row-major scales
// needs. 0 for bf16.
std::int64_t workspace_bytes(const RowPlan& plan);

// Arguments of a launch, with scales of A in the order asked for; row-major ones come with the workspace.
// Precondition: the function is that of the plan's layout.
ContiguousArguments contiguous_arguments(const GemmTensors& tensors, const RowPlan& plan, ScaleOrder order);
MaskedArguments masked_arguments(const GemmTensors& tensors, const RowPlan& plan, ScaleOrder order,
                                 std::int64_t expected_m);

// Scales as the verification kernels take them; empty for bf16.
ScaleView a_scale_view(const GemmTensors& tensors, const RowPlan& plan, ScaleOrder order);
ScaleView b_scale_view(const GemmTensors& tensors, const RowPlan& plan);

}  // namespace cubinet::warmup
