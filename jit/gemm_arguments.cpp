#include "jit/gemm_arguments.hpp"

#include <string>

#include <fmt/format.h>

namespace cubinet::jit {
namespace {

// The arguments that both layouts have.
template <class Arguments>
GemmArguments common_arguments(const Arguments& given) {
  GemmArguments arguments;
  arguments.a = given.a;
  arguments.b = given.b;
  arguments.d = given.d;
  arguments.a_scales = given.a_scales;
  arguments.b_scales = given.b_scales;
  arguments.workspace = given.workspace;
  arguments.num_sms = given.num_sms;
  return arguments;
}

std::string row_text(std::size_t row, std::int32_t group) {
  return fmt::format("m_indices: row {} has group {}", row, group);
}

}  // namespace

GemmArguments gemm_arguments(const Problem& problem, const ContiguousArguments& given) {
  GemmArguments arguments = common_arguments(given);
  arguments.grouping = given.m_indices;
  arguments.rows = arguments.total_rows = given.m;
  arguments.rows_per_group = given.m / problem.groups;
  return arguments;
}

GemmArguments gemm_arguments(const Problem& problem, const MaskedArguments& given) {
  GemmArguments arguments = common_arguments(given);
  arguments.grouping = given.masked_m;
  arguments.rows = given.capacity;
  arguments.total_rows = problem.groups * given.capacity;
  arguments.rows_per_group = given.expected_m;
  return arguments;
}

Expected<void> check_pointer(const char* name, const void* pointer, std::uintptr_t alignment) {
  if (pointer == nullptr) return fail(ErrorCode::invalid_argument, std::string(name) + " is null");
  if (is_aligned(pointer, alignment)) [[likely]]
    return {};
  return fail(ErrorCode::invalid_argument,
              std::string(name) + " is not aligned to " + std::to_string(alignment) + " bytes");
}

tl::unexpected<Error> refuse_negative(const char* name, std::int64_t value) {
  return fail(ErrorCode::invalid_argument, std::string(name) + " is negative: " + std::to_string(value));
}

Expected<void> check_m_indices(std::span<const std::int32_t> m_indices, std::int32_t groups) {
  constexpr auto kBlock = static_cast<std::size_t>(contiguous_alignment());
  std::int32_t block_group = -1;
  for (std::size_t row = 0; row < m_indices.size(); ++row) {
    const std::int32_t group = m_indices[row];
    if (row % kBlock == 0) block_group = -1;
    if (group == -1) continue;
    if (group < 0 || group >= groups) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{}, which is neither -1 nor one of the {} groups", row_text(row, group), groups));
    }
    if (block_group == -1) block_group = group;
    if (group != block_group) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{} in the block of {} rows that starts at row {} and belongs to group {}: segments must "
                              "start at multiples of {}",
                              row_text(row, group), kBlock, row - row % kBlock, block_group, kBlock));
    }
  }
  return {};
}

}  // namespace cubinet::jit
