#include "warmup/planning/model_vocabulary.hpp"

#include <algorithm>
#include <array>

namespace cubinet::warmup {
namespace {

using Key = std::string_view;

constexpr Key places[] = {"",
                          "text_config",
                          "llm_config",       // InternVL, Nemotron VL
                          "language_config",  // DeepSeek-VL2, DeepSeek-OCR
                          "thinker_config",   // Qwen3-Omni
                          "thinker_config.text_config"};
constexpr Key containers[] = {"", "thinker_config"};

constexpr Key expert_counts[] = {
    "n_routed_experts",            // DeepSeek, GLM, Kimi-K2, Nemotron-H
    "num_experts",                 // Qwen, OLMoE, Jamba, Ling, Kimi-Linear
    "num_local_experts",           // Mixtral, MiniMax, gpt-oss, Llama 4
    "moe_num_experts",             // ERNIE 4.5, Aria, Step3
    "num_routed_experts",          // openPangu
    "moe_num_primary_experts",     // SmallThinker
    "ffn_config.moe_num_experts",  // DBRX
};
constexpr Key expert_widths[] = {
    "moe_intermediate_size",
    "expert_ffn_hidden_size",      // LongCat
    "moe_ffn_hidden_size",         // SmallThinker
    "ffn_config.ffn_hidden_size",  // DBRX
};
constexpr Key hiddens[] = {"hidden_size", "d_model"};
constexpr Key expert_hiddens[] = {
    "moe_latent_size",            // Nemotron 3
    "routed_expert_hidden_size",  // Kimi-K3
    "moe_hidden_size",            // Muse Spark
};
constexpr Key activations[] = {"mlp_hidden_act", "hidden_act", "hidden_activation", "activation_function",
                               "ffn_config.ffn_act_fn.name"};

constexpr Key ungated[] = {"relu2", "relu_squared", "squared_relu", "relu2_no_mul"};
constexpr Key gated[] = {
    "silu",  "swish",    "swiglu", "gelu", "gelu_new", "gelu_fast", "gelu_tanh", "quick_gelu", "gelu_pytorch_tanh",
    "geglu", "swigluoai"};

// Parts of names that concern experts' shapes or types.
constexpr Key expert_words[] = {"expert", "moe", "ffn", "latent", "routed", "intermediate"};

// Parts of names that concern routing, which layers have experts, and shared experts.
constexpr Key harmless_parts[] = {"per_tok",    "topk",           "top_k",     "router",       "scaling",
                                  "capacity",   "dropout",        "jitter",    "normalize",    "_loss",
                                  "layer_freq", "layer_start",    "layer_end", "layer_period", "layer_offset",
                                  "layer_step", "layer_interval", "shared_",   "share_expert"};

// Names of that kind, and of dense MLPs.
constexpr Key harmless[] = {"dense_intermediate_size",  // MiniMax-M3
                            "intermediate_size_mlp",    // Llama 4
                            "ffn_hidden_size",          // LongCat
                            "zero_expert_num",          // LongCat: experts without weights
                            "moe_k",
                            "moe_norm_min",
                            "moe_layers",
                            "num_expert_group",
                            "rms_norm_eps_moe_gate"};

bool holds(Keys keys, Key key) { return std::find(keys.begin(), keys.end(), key) != keys.end(); }

bool has_part(Keys parts, Key name) {
  return std::any_of(parts.begin(), parts.end(), [&](Key part) { return name.find(part) != Key::npos; });
}

}  // namespace

Keys language_places() { return places; }
bool is_container(Key place) { return holds(containers, place); }
Keys expert_count_keys() { return expert_counts; }
Keys expert_width_keys() { return expert_widths; }
Keys hidden_keys() { return hiddens; }
Keys expert_hidden_keys() { return expert_hiddens; }
Keys activation_keys() { return activations; }

Gate gate_of(Key activation) {
  if (holds(ungated, activation)) return Gate::absent;
  return holds(gated, activation) ? Gate::present : Gate::unknown;
}

bool may_concern_experts(Key name) {
  return has_part(expert_words, name) && !has_part(harmless_parts, name) && !holds(harmless, name);
}

bool is_part(Key name) {
  const std::array<Keys, 5> keys{expert_counts, expert_widths, hiddens, expert_hiddens, activations};
  const auto begins = [&](Key key) {
    return key.size() > name.size() && key.starts_with(name) && key[name.size()] == '.';
  };
  return std::any_of(keys.begin(), keys.end(),
                     [&](Keys some) { return std::any_of(some.begin(), some.end(), begins); });
}

bool is_read(Key key) {
  const std::array<Keys, 5> keys{expert_counts, expert_widths, hiddens, expert_hiddens, activations};
  return key == shared_width_key || key == expert_dtype_key ||
         std::any_of(keys.begin(), keys.end(), [&](Keys some) { return holds(some, key); });
}

}  // namespace cubinet::warmup
