// What an engine decides by, of a model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cubinet/problem.hpp"
#include "warmup/planning/model.hpp"

namespace cubinet::warmup::engines {

// Texts are empty, and numbers 0, where the configuration does not say them.
struct ModelFacts {
  std::string architecture;            // architectures[0]
  std::string quantization;            // quant_method
  DataType type = DataType::bf16;      // of the kernels that serve the experts as they are stored
  std::int64_t hidden = 0;             // hidden_size
  std::int64_t width = 0;              // of an expert
  std::int64_t experts = 0;            // routed ones
  std::int64_t experts_per_token = 0;  // num_experts_per_tok
  std::int64_t shared_experts = 0;     // n_shared_experts
  std::int64_t shared_width = 0;       // shared_expert_intermediate_size
};

// Whether a server's --quantization only names what the model has: "modelopt_fp4" and "awq_marlin" are kinds of
// modelopt and awq, and "compressed_tensors" is spelled with a dash, too.
bool names_own_quantization(const ModelFacts& facts, std::string_view option);

// Of a model whose layers differ: the layer with the most experts. Precondition: it has one.
ModelFacts facts_of(const MoeShape& shape);

}  // namespace cubinet::warmup::engines
