// From a model's config.json to the grouped GEMMs of its mixture-of-experts layers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cubinet/problem.hpp"
#include "util/expected.hpp"

namespace cubinet::warmup {

// What of a config.json decides the shapes. Where a configuration nests the language model under `text_config`, the
// fields are read from there. Where the top level names experts too, they are read from both, and two values that
// disagree are an error. They are spelled:
//   experts       n_routed_experts | num_experts | num_local_experts; two that disagree are an error
//   expert_width  moe_intermediate_size, else intermediate_size where the experts are the only MLP: that is, where
//                 num_local_experts alone gives the experts (as in Mixtral, MiniMax-M2 and gpt-oss), and none of
//                 first_k_dense_replace, mlp_only_layers, decoder_sparse_step or moe_layer_freq tells of dense layers
//                 too. Elsewhere intermediate_size is the width of dense MLPs, and to have no other is an error.
// A field that is null counts as absent. One that is given twice in one object is an error.
struct MoeShape {
  std::string model_type;
  std::string quantization;       // quantization_config.quant_method; empty: none
  std::int64_t hidden_size = 0;   // H
  std::int64_t expert_width = 0;  // I0, before tensor parallelism
  std::int64_t experts = 0;       // E, before expert parallelism
};

struct Parallelism {
  std::int64_t expert = 1;  // --ep: ranks over which the experts are dealt
  std::int64_t tensor = 1;  // --tp: ranks over which each expert's width is split
};

// `text` is the JSON and nothing after it; `origin` names it in errors. Errors: not JSON (with line and column), no
// experts, a field of the wrong type or not positive, and what MoeShape says.
Expected<MoeShape> parse_model(std::string_view text, const std::string& origin);

// Reads the file. A directory, a missing or an unreadable file is an error that names it.
Expected<MoeShape> read_model(const std::filesystem::path& file);

// GEMM1 (N = 2I, K = H) and GEMM2 (N = H, K = I) in each of `layouts`. Remainders are errors that name both numbers;
// an I of which the kernels do not take 2I as N or I as K is one that names the width, the ranks and what they gave.
Expected<std::vector<Problem>> problems_of(const MoeShape& shape, const Parallelism& parallelism,
                                           const std::vector<Layout>& layouts);

}  // namespace cubinet::warmup
