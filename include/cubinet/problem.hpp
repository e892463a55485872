// The problem that a kernel serves: plain values, no CUDA.
#pragma once

#include <cstdint>

namespace cubinet {

// How the rows of the activations are assigned to groups (experts).
//   contiguous  A is (M, K), the groups' rows back to back in segments that start at multiples of
//               contiguous_alignment(); m_indices (M) int32 names each row's group, -1 for padding.
//   masked      A is (groups, capacity, K); masked_m (groups) int32 gives the valid rows of each.
enum class Layout : std::uint8_t { contiguous, masked };

// Type of the operands. Accumulation is FP32 and the output BF16 in every case.
//   bf16
//   fp8   e4m3fn with FP32 scales: one per row and 128 of K for A, one per 128 x 128 block of (N, K) for B; see
//         cubinet/scales.hpp. The product of each 128 of K is multiplied by both scales before it is accumulated.
enum class DataType : std::uint8_t { bf16, fp8 };

// One grouped GEMM: D = A * B^T per group, with A (rows, K), B (groups, N, K), D (rows, N), all
// row-major, so K is contiguous in both operands ("NT").
struct Problem {
  DataType data_type = DataType::bf16;
  Layout layout = Layout::contiguous;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int32_t groups = 0;

  friend bool operator==(const Problem&, const Problem&) = default;
};

// An inclusive range of M. For the contiguous layout M counts all rows of A; for the masked layout
// it is the number of rows expected per group (`expected_m`).
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

// Segments of the contiguous layout start at multiples of this many rows.
constexpr std::int32_t contiguous_alignment() { return 128; }

}  // namespace cubinet
