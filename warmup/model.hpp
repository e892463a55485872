// What a model's config.json says of its mixture-of-experts layers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cubinet/problem.hpp"
#include "util/expected.hpp"
#include "warmup/option_names.hpp"

namespace cubinet::warmup {

// What of a config.json decides the shapes. Where a configuration nests the language model under `text_config`, the
// fields are read from there. Where the top level names experts too, they are read from both, and two values that
// disagree are an error. They are spelled:
//   experts       n_routed_experts | num_experts | num_local_experts; two that disagree are an error
//   expert_width  moe_intermediate_size, else intermediate_size where the experts are the only MLP: that is, where
//                 num_local_experts alone gives the experts (as in Mixtral, MiniMax-M2 and gpt-oss), and none of
//                 first_k_dense_replace, mlp_only_layers, decoder_sparse_step or moe_layer_freq tells of dense layers
//                 too. Elsewhere intermediate_size is the width of dense MLPs, and to have no other is an error.
//   quantization_config   under text_config or at the top level, where the experts' fields are; two that say different
//                 things are an error
// A field that is null counts as absent. One that is given twice in one object is an error, and so is one of another
// type than it has in models: text_config and quantization_config are objects, quant_method is a text.
struct MoeShape {
  std::string model_type;
  std::string quantization;           // quantization_config.quant_method ("an unnamed method" where it is missing);
                                      // empty: none
  std::int64_t hidden_size = 0;       // H
  std::int64_t expert_width = 0;      // I0, before tensor parallelism
  std::int64_t experts = 0;           // E, before expert parallelism
  std::string weight_block{};         // quantization_config.weight_block_size as JSON, "[128,128]"; empty: none
  std::string quantization_prefix{};  // of quantization_config's name: "text_config." or nothing
  // What engines decide by, and no shape: 0 and empty where the file does not say it.
  std::string architecture{};          // architectures[0]
  std::int64_t experts_per_token = 0;  // num_experts_per_tok
  std::int64_t shared_experts = 0;     // n_shared_experts | num_shared_experts
  std::int64_t shared_width = 0;       // shared_expert_intermediate_size | moe_shared_expert_intermediate_size
};

// `text` is the JSON and nothing after it; `origin` names it in errors. Errors: not JSON (with line and column), no
// experts, a field of the wrong type or not positive, and what MoeShape says.
Expected<MoeShape> parse_model(std::string_view text, const std::string& origin);

// Reads the file. A directory, a missing or an unreadable file is an error that names it.
Expected<MoeShape> read_model(const std::filesystem::path& file);

// The type of the operands that the model's weights have: FP8 where they are quantized by the method "fp8" in blocks of
// 128 x 128, else BF16, also where they are quantized by another method. The method "fp8" with other blocks, or with
// none (a scale per tensor), is an error: there are kernels for its shapes, but the caller has to choose the type.
Expected<DataType> weight_type(const MoeShape& shape, const OptionNames& names = command_options);

}  // namespace cubinet::warmup
