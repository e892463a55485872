#include "warmup/planning/engines/expected_rows.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cubinet::warmup::engines {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

constexpr std::int64_t largest_product = std::int64_t{1} << 60;

}  // namespace

std::int64_t bounded_product(std::int64_t a, std::int64_t b) {
  return b > 0 && a > largest_product / b ? largest_product : a * b;
}

std::int64_t groups_per_rank(std::int64_t experts, const Parallelism& parallelism) {
  return ceil_div(experts + parallelism.redundant, parallelism.expert) + parallelism.fused_shared;
}

Derivation contiguous_rows(std::int64_t tokens, std::int64_t copies, std::int64_t groups, const std::string& how) {
  const std::int64_t assignments = bounded_product(tokens, copies);
  const std::int64_t padding = std::min(assignments, groups) * (row_alignment - 1);
  return {"largest M, contiguous", ceil_div(assignments + padding, row_alignment) * row_alignment,
          fmt::format("{} tokens ({}) x {} experts per token, and {} rows of padding in each of {} groups", tokens, how,
                      copies, row_alignment - 1, std::min(assignments, groups))};
}

Derivation expected_rows(std::int64_t tokens, std::int64_t copies, std::int64_t experts, const std::string& how) {
  return {"largest M, masked", ceil_div(bounded_product(tokens, copies), experts),
          fmt::format("{} tokens ({}) x {} experts per token / {} experts", tokens, how, copies, experts)};
}

}  // namespace cubinet::warmup::engines
