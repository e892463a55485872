// SGLang's launch command.
#pragma once

#include "warmup/planning/engines/engine.hpp"

namespace cubinet::warmup::engines {

// The rules are those of SGLang 0.5.23 on an sm_90a GPU, from sglang/srt: arg_groups/{parallel,moe,memory}_hook.py
// and overrides.py, runtime_context.py (derive_parallel_widths), layers/moe/fused_moe_triton/layer.py (FusedMoE),
// layers/moe/moe_runner/deep_gemm.py, layers/moe/token_dispatcher/deepep.py.
const Engine& sglang();

const FlagTable& sglang_flags();

// The shared experts that SGLang computes as additional groups of the routed experts' GEMM.
struct FusedShared {
  std::int64_t groups = 0;
  std::string why;  // "DeepseekV3ForCausalLM fuses its shared expert where ep_size is 1"
};

// The settings that decide about fusion, besides the model.
struct FusionSettings {
  std::int64_t expert_ranks = 1;
  std::string a2a_backend = "none";
  std::string runner_backend = "auto";
  bool disabled = false;    // --disable-shared-experts-fusion
  bool enforced = false;    // --enforce-shared-experts-fusion, --enable-waterfill
  bool overlapped = false;  // --enable-two-batch-overlap, --enable-single-batch-overlap
};

// The result of the models' shared_experts_fusion_disable_reason and num_fusable_shared_experts on CUDA.
FusedShared fused_shared(const ModelFacts& facts, const FusionSettings& settings);

}  // namespace cubinet::warmup::engines
