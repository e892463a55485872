#include "jit/labels.hpp"

#include <string>

#include "cubinet/problem.hpp"

namespace cubinet::jit {
namespace {

std::string row_text(std::size_t row, std::int32_t label) {
  return "m_indices: row " + std::to_string(row) + " is labelled " + std::to_string(label);
}

}  // namespace

Expected<void> check_label_rows(std::span<const std::int32_t> labels, std::int32_t groups) {
  constexpr auto kBlock = static_cast<std::size_t>(contiguous_alignment());
  std::int32_t block_label = -1;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const std::int32_t label = labels[row];
    if (row % kBlock == 0) block_label = -1;
    if (label == -1) continue;
    if (label < 0 || label >= groups) {
      return fail(ErrorCode::invalid_argument, row_text(row, label) + ", which is neither -1 nor one of the " +
                                                   std::to_string(groups) + " groups");
    }
    if (block_label == -1) block_label = label;
    if (label != block_label) {
      return fail(ErrorCode::invalid_argument,
                  row_text(row, label) + " in the block of " + std::to_string(kBlock) + " rows that starts at row " +
                      std::to_string(row - row % kBlock) + " and belongs to group " + std::to_string(block_label) +
                      ": segments must start at multiples of " + std::to_string(kBlock));
    }
  }
  return {};
}

}  // namespace cubinet::jit
