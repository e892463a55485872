// The known model types, one per line.
#include <algorithm>
#include <iterator>

#include "warmup/planning/model_vocabulary.hpp"

namespace cubinet::warmup {
namespace {

enum class Width { own, intermediate_size };

struct ModelType {
  std::string_view name;
  Width width = Width::own;  // the key of the experts' width
};

constexpr ModelType model_types[] = {
    {"afmoe"},
    {"arctic", Width::intermediate_size},
    {"aria", Width::intermediate_size},
    {"aria_text", Width::intermediate_size},
    {"axk1"},
    {"AXK1"},
    {"axk2"},
    {"bailing_hybrid"},
    {"bailing_moe"},
    {"bailing_moe_linear"},
    {"bailing_moe_v2"},
    {"bailing_moe_v2_5"},
    {"beam"},
    {"cohere2_moe", Width::intermediate_size},
    {"dbrx"},
    {"deepseek"},
    {"deepseek_ocr"},
    {"deepseek_ocr2"},
    {"deepseek_ocr2_text"},
    {"deepseek_v2"},
    {"deepseek_v3"},
    {"deepseek_v32"},
    {"deepseek_v4"},
    {"deepseek_vl_v2"},
    {"diffusion_gemma"},
    {"diffusion_gemma_text"},
    {"dots1"},
    {"dots3_note"},
    {"dots3_note_text"},
    {"dots_vlm"},
    {"ernie4_5_moe"},
    {"ernie4_5_moe_vl"},
    {"ernie4_5_vl_moe"},
    {"ernie4_5_vl_moe_text"},
    {"exaone_moe"},
    {"flex_olmo", Width::intermediate_size},
    {"flint"},
    {"gemma4"},
    {"gemma4_text"},
    {"glm4_moe"},
    {"glm4_moe_lite"},
    {"glm4v_moe"},
    {"glm4v_moe_text"},
    {"glm5_next"},
    {"glm5_next_text"},
    {"glm_moe_dsa"},
    {"gpt_oss", Width::intermediate_size},
    {"granitemoe", Width::intermediate_size},
    {"granitemoe_swa", Width::intermediate_size},
    {"granitemoehybrid", Width::intermediate_size},
    {"granitemoeshared", Width::intermediate_size},
    {"grok-1"},
    {"hunyuan", Width::intermediate_size},
    {"hunyuan_v1_moe", Width::intermediate_size},
    {"hy_v3"},
    {"hy_v4"},
    {"hy_v4_vl"},
    {"hy_v4_vl_text"},
    {"inkling2"},
    {"inkling2_loop"},
    {"inkling2_loop_text"},
    {"inkling2_text"},
    {"inkling_mm_model"},
    {"inkling_text"},
    {"interns1"},
    {"internvl_chat"},
    {"jamba", Width::intermediate_size},
    {"jetmoe", Width::intermediate_size},
    {"kimi_k2"},
    {"kimi_k25"},
    {"kimi_k3"},
    {"kimi_linear"},
    {"kimi_vl"},
    {"kolibri1"},
    {"laguna"},
    {"lara_mini"},
    {"lfm2_moe"},
    {"ling"},
    {"llama4", Width::intermediate_size},
    {"llama4_text", Width::intermediate_size},
    {"longcat_flash"},
    {"longcat_flash_ngram"},
    {"mellum"},
    {"mimo_v2"},
    {"mimo_v2_flash"},
    {"minimax", Width::intermediate_size},
    {"minimax_m1"},
    {"minimax_m2", Width::intermediate_size},
    {"minimax_m3_vl"},
    {"minimax_m3_vl_text", Width::intermediate_size},
    {"minimax_text_01"},
    {"MiniMaxText01"},
    {"mistral4"},
    {"mistral_large4"},
    {"mistral_large4_text"},
    {"mixtral", Width::intermediate_size},
    {"muse_spark"},
    {"muse_spark_text"},
    {"nemo_speechlm"},
    {"nemotron_h"},
    {"nemotron_h_omni"},
    {"nemotron_h_puzzle"},
    {"NemotronH_Nano_VL_V2"},
    {"olmoe", Width::intermediate_size},
    {"openai_privacy_filter", Width::intermediate_size},
    {"pangu_ultra_moe"},
    {"PanguProMoE"},
    {"phimoe", Width::intermediate_size},
    {"qwen2_moe"},
    {"qwen3_5_moe"},
    {"qwen3_5_moe_text"},
    {"qwen3_moe"},
    {"qwen3_next"},
    {"qwen3_omni_moe"},
    {"qwen3_omni_moe_text"},
    {"qwen3_omni_moe_thinker"},
    {"qwen3_vl_moe"},
    {"qwen3_vl_moe_text"},
    {"qwen4_exp"},
    {"qwen4_exp_text"},
    {"sarvam_mla"},
    {"sarvam_moe"},
    {"skywork_moe"},
    {"smallthinker"},
    {"solar_open"},
    {"step3_text"},
    {"step3_vl"},
    {"step3p5"},
    {"step3p7"},
    {"telechat3_moe"},
    {"unlimited_ocr"},
    {"unlimited_ocr_text"},
    {"xverse"},
    {"zaya"},
};

const ModelType* find(std::string_view name) {
  const auto* const found = std::find_if(std::begin(model_types), std::end(model_types),
                                         [&](const ModelType& one) { return one.name == name; });
  return found == std::end(model_types) ? nullptr : found;
}

}  // namespace

bool is_known_model(std::string_view model_type) { return find(model_type) != nullptr; }

bool shares_width(std::string_view model_type) {
  const ModelType* found = find(model_type);
  return found != nullptr && found->width == Width::intermediate_size;
}

}  // namespace cubinet::warmup
