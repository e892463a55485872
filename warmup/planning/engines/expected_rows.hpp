// How many rows a launch of an engine can have, as lines of a plan's derivation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "warmup/planning/derivation.hpp"
#include "warmup/planning/model_problems.hpp"

namespace cubinet::warmup::engines {

// Rows in a group are padded to a multiple of this in the contiguous layout (DeepGEMM's alignment on sm_90).
inline constexpr std::int64_t row_alignment = 128;

// a x b, or 2^60 where it is more: a command may say any numbers. Precondition: none is negative.
std::int64_t bounded_product(std::int64_t a, std::int64_t b);

// The most groups that one rank has.
std::int64_t groups_per_rank(std::int64_t experts, const Parallelism& parallelism);

// Contiguous layout: each of `tokens` tokens has a row for each of its `copies` experts, should all be on one rank, and
// each group is padded. `how` says where the tokens come from.
Derivation contiguous_rows(std::int64_t tokens, std::int64_t copies, std::int64_t groups, const std::string& how);

// Masked layout: rows that are expected per group where `tokens` tokens are spread evenly over `experts` experts.
Derivation expected_rows(std::int64_t tokens, std::int64_t copies, std::int64_t experts, const std::string& how);

}  // namespace cubinet::warmup::engines
