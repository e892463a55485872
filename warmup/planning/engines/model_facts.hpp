// The facts of a model that the rules of engines use, and arithmetic that the rules share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cubinet/problem.hpp"
#include "warmup/planning/model.hpp"
#include "warmup/planning/model_problems.hpp"

namespace cubinet::warmup::engines {

// Strings are empty and numbers 0 if the configuration does not give them.
struct ModelFacts {
  std::string architecture;            // architectures[0]
  std::string quantization;            // quant_method
  DataType type = DataType::bf16;      // of the kernels that take the experts as they are stored
  std::int64_t hidden = 0;             // hidden_size
  std::int64_t width = 0;              // of one expert
  std::int64_t experts = 0;            // number of routed experts
  std::int64_t experts_per_token = 0;  // num_experts_per_tok
  std::int64_t shared_experts = 0;     // n_shared_experts
  std::int64_t shared_width = 0;       // shared_expert_intermediate_size
};

// The facts of a model. If its layers differ, those of the layer with the most experts. Precondition: it has a layer.
ModelFacts facts_of(const MoeShape& shape);

// Whether the value of --quantization names the quantization that the model has: "modelopt_fp4" and "awq_marlin" are
// kinds of modelopt and awq, and "compressed_tensors" may be spelled with a dash.
bool names_own_quantization(const ModelFacts& facts, std::string_view option);

// In the contiguous layout engines pad the rows of each group to a multiple of this (DeepGEMM's alignment on sm_90).
inline constexpr std::int64_t row_alignment = 128;

// a * b, at most 2^60, since a command may give any numbers. Precondition: neither is negative.
std::int64_t bounded_product(std::int64_t a, std::int64_t b);

// The largest number of groups that a rank has.
std::int64_t groups_per_rank(std::int64_t experts, const Parallelism& parallelism);

// The largest M of the contiguous layout: each of `tokens` tokens has a row for each of its `copies` experts, all of
// them on one rank, and each group is padded. `how` says where the number of tokens comes from.
Derivation contiguous_rows(std::int64_t tokens, std::int64_t copies, std::int64_t groups, const std::string& how);

// The largest M of the masked layout: the rows expected per group if `tokens` tokens are spread evenly over `experts`
// experts.
Derivation expected_rows(std::int64_t tokens, std::int64_t copies, std::int64_t experts, const std::string& how);

}  // namespace cubinet::warmup::engines
