// Describes a grouped GEMM: plain values, no CUDA.
#pragma once

#include <cstdint>

namespace cubinet {

// How the rows of A are assigned to groups (experts).
//   contiguous  A is (M, K). The rows of each group are one segment, which starts at a multiple of
//               contiguous_alignment(). m_indices, int32 (M), is the group of each row, or -1 for a padding row.
//   masked      A is (groups, capacity, K). masked_m, int32 (groups), is the number of valid rows of each group.
enum class Layout : std::uint8_t { contiguous, masked };

// Type of the operands A and B. Accumulation is FP32 and D is BF16 in every case.
//   bf16
//   fp8   e4m3fn with FP32 scales (cubinet/scales.hpp): one per row and 128 of K for A, one per 128 x 128 block of
//         (N, K) for B. The product over each 128 of K is multiplied by both scales before it is accumulated.
enum class DataType : std::uint8_t { bf16, fp8 };

// One grouped GEMM as one rank sees it: D = A * B^T for each group, with A (rows, K), B (groups, N, K), D (rows, N),
// all row-major, so that K is contiguous in both operands ("NT").
struct Problem {
  DataType data_type = DataType::bf16;
  Layout layout = Layout::contiguous;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int32_t groups = 0;

  friend bool operator==(const Problem&, const Problem&) = default;
};

// A range of M; both ends are included. In the contiguous layout M is the number of rows of A, in the masked layout the
// number of rows expected per group (`expected_m`).
struct MRange {
  std::int64_t first = 1;
  std::int64_t last = 1;

  friend bool operator==(const MRange&, const MRange&) = default;
};

// A problem, and the M for which its kernels are wanted.
struct ProblemRange {
  Problem problem;
  MRange range;

  friend bool operator==(const ProblemRange&, const ProblemRange&) = default;
};

// The largest M of a plan: more rows than any batch has. A larger M selects the same kernel as this one.
constexpr std::int64_t largest_m() { return std::int64_t{1} << 24; }

// In the contiguous layout each group starts at a multiple of this many rows.
constexpr std::int32_t contiguous_alignment() { return 128; }

}  // namespace cubinet
