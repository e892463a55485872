// The arguments of one grouped GEMM in a form that is common to all layouts, and the checks that need no access to the
// device.
#pragma once

#include <cstdint>
#include <span>

#include "cubinet/cubinet.hpp"
#include "jit/driver.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// The alignment of operands, in bytes: TMA and 16-byte loads and stores need it.
inline constexpr std::uintptr_t kOperandAlignment = 16;

// Pointers are device pointers.
struct GemmArguments {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  // The array that assigns rows to groups: m_indices (m) in the contiguous layout, masked_m (groups) in the masked one.
  const std::int32_t* grouping = nullptr;
  std::int64_t rows = 0;            // M in the contiguous layout, capacity in the masked one
  std::int64_t total_rows = 0;      // of A and D: M, or groups * capacity
  std::int64_t rows_per_group = 0;  // M / groups, or expected_m: tunes, and never changes the result
  ScaleTensor a_scales{};
  ScaleTensor b_scales{};
  ScaleWorkspace workspace{};
  int num_sms = 0;  // the most SMs that the launch may occupy; 0: all of the device
};

GemmArguments gemm_arguments(const Problem& problem, const ContiguousArguments& arguments);
GemmArguments gemm_arguments(const Problem& problem, const MaskedArguments& arguments);

inline bool is_aligned(const void* pointer, std::uintptr_t alignment) {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

// Errors: invalid_argument, "a is null" or "a is not aligned to 16 bytes".
Expected<void> check_pointer(const char* name, const void* pointer, std::uintptr_t alignment);

// An error that says "m is negative: -1".
tl::unexpected<Error> refuse_negative(const char* name, std::int64_t value);

// Whether each element of m_indices is -1 or one of `groups`, and the elements other than -1 agree within each aligned
// block of contiguous_alignment() rows. invalid_argument names the first row that breaks the rule.
Expected<void> check_m_indices(std::span<const std::int32_t> m_indices, std::int32_t groups);

inline CUdeviceptr device_address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace cubinet::jit
