// Parts of public models' config.json that are easily planned wrong, with the GEMMs that engines launch on one of 8
// ranks.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cubinet/problem.hpp"

namespace cubinet::test {

struct ReportedModel {
  const char* name;
  const char* text;
  std::vector<std::int32_t> groups;  // of the ranks with the most experts, and of those with the fewest
  std::pair<std::int64_t, std::int64_t> gemm1, gemm2;  // N and K
  DataType type;
  const char* note;  // part of the only note; empty if there is none
};

inline const std::vector<ReportedModel>& reported_models() {
  static const std::vector<ReportedModel> models{
      {"nemotron3-nano",
       R"({"model_type": "nemotron_h", "hidden_size": 2688, "intermediate_size": 1856, "moe_intermediate_size": 1856,
           "n_routed_experts": 128, "mlp_hidden_act": "relu2"})",
       {16},
       {1856, 2688},
       {2688, 1856},
       DataType::bf16,
       ""},
      {"nemotron3-ultra",
       R"({"model_type": "nemotron_h", "hidden_size": 8192, "moe_intermediate_size": 5120, "moe_latent_size": 2048,
           "n_routed_experts": 512, "mlp_hidden_act": "relu2"})",
       {64},
       {5120, 2048},
       {2048, 5120},
       DataType::bf16,
       ""},
      {"kimi-k3",
       R"({"model_type": "kimi_k3", "text_config": {"model_type": "kimi_linear", "hidden_size": 7168,
           "routed_expert_hidden_size": 3584, "moe_intermediate_size": 3072, "num_experts": 896,
           "intermediate_size": 33792, "quantization_config": {"quant_method": "compressed-tensors"}}})",
       {112},
       {6144, 3584},
       {3584, 3072},
       DataType::bf16,
       "stored as compressed-tensors"},
      {"deepseek-v4-flash",
       R"({"model_type": "deepseek_v4", "expert_dtype": "fp4", "hidden_size": 4096, "moe_intermediate_size": 2048,
           "n_routed_experts": 256,
           "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})",
       {32},
       {4096, 4096},
       {4096, 2048},
       DataType::bf16,
       "stored as FP4 (expert_dtype fp4), which no kernel supports; planning bf16 kernels of their shapes"},
      {"laguna-s-2.1-fp8",
       R"({"model_type": "laguna", "hidden_size": 3072, "intermediate_size": 12288, "moe_intermediate_size": 1024,
           "num_experts": 256, "mlp_only_layers": [0],
           "quantization_config": {"quant_method": "compressed-tensors", "format": "float-quantized",
             "config_groups": {"group_0": {"targets": ["Linear"],
               "weights": {"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128]},
               "input_activations": {"num_bits": 8, "type": "float", "strategy": "group", "group_size": 128,
                                     "dynamic": true}}},
             "ignore": ["lm_head"]}})",
       {32},
       {2048, 3072},
       {3072, 1024},
       DataType::fp8,
       ""},
      {"qwen3-omni-30b-a3b",
       R"({"model_type": "qwen3_omni_moe",
           "thinker_config": {"model_type": "qwen3_omni_moe_thinker", "text_config": {"hidden_size": 2048,
             "intermediate_size": 768, "moe_intermediate_size": 768, "num_experts": 128, "decoder_sparse_step": 1,
             "mlp_only_layers": []}},
           "talker_config": {"text_config": {"hidden_size": 1024, "intermediate_size": 2048,
             "moe_intermediate_size": 384, "num_local_experts": 128}}})",
       {16},
       {1536, 2048},
       {2048, 768},
       DataType::bf16,
       "the plan is the language model's; experts of talker_config.text_config are left out"},
      {"ernie-4.5-21b-a3b",
       R"({"model_type": "ernie4_5_moe", "hidden_size": 2560, "intermediate_size": 12288,
           "moe_intermediate_size": 1536, "moe_num_experts": 64, "moe_k": 6, "moe_layer_start_index": 1})",
       {8},
       {3072, 2560},
       {2560, 1536},
       DataType::bf16,
       ""},
      {"hunyuan-a13b",
       R"({"model_type": "hunyuan_v1_moe", "hidden_size": 4096, "intermediate_size": 3072, "num_experts": 64,
           "moe_intermediate_size": [3072, 3072, 3072, 3072], "moe_topk": [8, 8, 8, 8],
           "num_shared_expert": [1, 1, 1, 1]})",
       {8},
       {6144, 4096},
       {4096, 3072},
       DataType::bf16,
       ""},
      {"infinity",
       R"({"hidden_size": 4096, "moe_intermediate_size": 1536, "num_experts": 128, "x": Infinity})",
       {16},
       {3072, 4096},
       {4096, 1536},
       DataType::bf16,
       ""},
      {"qwen1.5-moe-a2.7b",
       R"({"model_type": "qwen2_moe", "hidden_size": 2048, "intermediate_size": 5632, "moe_intermediate_size": 1408,
           "num_experts": 60, "decoder_sparse_step": 1})",
       {8, 7},
       {2816, 2048},
       {2048, 1408},
       DataType::bf16,
       ""},
  };
  return models;
}

}  // namespace cubinet::test
