// vLLM's launch command.
#pragma once

#include "warmup/planning/engines/engine.hpp"

namespace cubinet::warmup::engines {

// The rules are those of vLLM 0.33.0 on an sm_90a GPU, from vllm: model_executor/layers/fused_moe/config.py
// (FusedMoEParallelConfig.make), layer.py, expert_map_manager.py, all2all_utils.py and prepare_finalize/ (hidden
// sizes), deep_gemm_utils.py, experts/batched_deep_gemm_moe.py, and engine/arg_utils.py (defaults).
const Engine& vllm();

const FlagTable& vllm_flags();

}  // namespace cubinet::warmup::engines
