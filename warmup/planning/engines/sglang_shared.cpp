// Which of SGLang's models compute their shared experts in the routed experts' GEMM.
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "warmup/planning/engines/sglang.hpp"

namespace cubinet::warmup::engines {
namespace {

template <std::size_t size>
bool is_one_of(std::string_view text, const std::array<std::string_view, size>& set) {
  return std::find(set.begin(), set.end(), text) != set.end();
}

constexpr std::array<std::string_view, 7> separate_runners{
    "flashinfer_cutedsl", "flashinfer_trtllm", "flashinfer_trtllm_routed", "experimental_sgl_trtllm", "lora_cutedsl",
    "lora_marlin",        "lora_triton"};
constexpr std::array<std::string_view, 3> separate_dispatchers{"flashinfer", "flashinfer_megamoe", "deepep_v2"};
// Dispatchers that give each rank shared experts of its own.
constexpr std::array<std::string_view, 6> slots_per_rank{"deepep", "deepep_v2", "mooncake", "mori", "pplx", "megamoe"};

bool deepep_class(const FusionSettings& settings) {
  return settings.a2a_backend != "megamoe" && is_one_of(settings.a2a_backend, slots_per_rank);
}

// The reason why the shared experts are not fused; empty if they are.
using Reason = std::string (*)(const ModelFacts& facts, const FusionSettings& settings);

std::string over_ranks(const FusionSettings& settings) {
  return settings.expert_ranks > 1 ? fmt::format("with ep_size {}", settings.expert_ranks) : std::string();
}

std::string dispatched(const FusionSettings& settings) {
  return fmt::format("with moe_a2a_backend {}", settings.a2a_backend);
}

std::string deepseek(const ModelFacts& facts, const FusionSettings& settings) {
  if (settings.enforced) return {};
  if (settings.overlapped) return "where batches overlap";
  if (deepep_class(settings)) return dispatched(settings);
  const bool named = facts.architecture == "DeepseekV3ForCausalLM" || facts.architecture == "GlmMoeDsaForCausalLM";
  const bool known = facts.experts == 256 || (facts.experts == 384 && facts.quantization == "quark");
  if (!named || !known || facts.shared_experts != 1) return "for this model";
  if (facts.quantization == "w4afp8") return "with w4afp8";
  return over_ranks(settings);
}

std::string deepseek_v4(const ModelFacts& /*facts*/, const FusionSettings& settings) {
  if (!settings.enforced) return "unless enforced";
  return is_one_of(settings.a2a_backend, slots_per_rank) ? std::string() : over_ranks(settings);
}

std::string glm4(const ModelFacts& facts, const FusionSettings& settings) {
  if (settings.a2a_backend == "deepep" || settings.a2a_backend == "mori") return dispatched(settings);
  if (facts.quantization == "w4afp8") return "with w4afp8";
  return over_ranks(settings);
}

std::string dots3(const ModelFacts& facts, const FusionSettings& settings) {
  if (facts.experts != 256 || facts.shared_experts != 1) return "for this model";
  if (facts.quantization == "w4afp8") return "with w4afp8";
  return over_ranks(settings);
}

std::string one_on_one_rank(const ModelFacts& facts, const FusionSettings& settings) {
  if (settings.a2a_backend == "deepep") return dispatched(settings);
  if (facts.shared_experts != 1) return "but one";
  return over_ranks(settings);
}

std::string qwen3_next(const ModelFacts& facts, const FusionSettings& settings) {
  if (facts.shared_width != facts.width) return "of another width than the routed ones";
  if (settings.a2a_backend == "deepep" || settings.a2a_backend == "mori") return dispatched(settings);
  return is_one_of(settings.a2a_backend, slots_per_rank) ? over_ranks(settings) : std::string();
}

std::string bailing(const ModelFacts& facts, const FusionSettings& settings) {
  if (settings.a2a_backend != "none") return dispatched(settings);
  if (facts.shared_width != 0 && facts.shared_width != facts.width) return "of another width than the routed ones";
  return facts.quantization == "w4afp8" ? "with w4afp8" : "";
}

struct Rule {
  const char* architecture;
  Reason reason;
};
constexpr std::array<Rule, 19> rules{{{"DeepseekV2ForCausalLM", deepseek},
                                      {"DeepseekV3ForCausalLM", deepseek},
                                      {"DeepseekV32ForCausalLM", deepseek},
                                      {"GlmMoeDsaForCausalLM", deepseek},
                                      {"KimiK25ForConditionalGeneration", deepseek},
                                      {"KimiVLForConditionalGeneration", deepseek},
                                      {"DotsVLMForCausalLM", deepseek},
                                      {"MistralLarge3ForCausalLM", deepseek},
                                      {"PixtralForConditionalGeneration", deepseek},
                                      {"DeepseekV4ForCausalLM", deepseek_v4},
                                      {"Dots3NoteForCausalLM", dots3},
                                      {"Glm4MoeForCausalLM", glm4},
                                      {"Glm4vMoeForConditionalGeneration", one_on_one_rank},
                                      {"Glm4MoeLiteForCausalLM", one_on_one_rank},
                                      {"Glm5NextForConditionalGeneration", one_on_one_rank},
                                      {"MiniMaxM3SparseForCausalLM", one_on_one_rank},
                                      {"MiniMaxM3SparseForConditionalGeneration", one_on_one_rank},
                                      {"Qwen3NextForCausalLM", qwen3_next},
                                      {"BailingMoeV3ForCausalLM", bailing}}};

// The reason why these settings prevent fusion for every model; empty if they do not.
std::string switched_off(const FusionSettings& settings) {
  if (settings.disabled) return "with --disable-shared-experts-fusion";
  if (is_one_of(settings.runner_backend, separate_runners)) {
    return fmt::format("with moe_runner_backend {}", settings.runner_backend);
  }
  return is_one_of(settings.a2a_backend, separate_dispatchers) ? dispatched(settings) : std::string();
}

}  // namespace

FusedShared fused_shared(const ModelFacts& facts, const FusionSettings& settings) {
  const std::int64_t shared = facts.shared_experts > 0 ? facts.shared_experts : facts.shared_width > 0 ? 1 : 0;
  if (shared == 0) return {0, "the model has no shared expert"};
  const auto rule =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& one) { return facts.architecture == one.architecture; });
  if (rule == rules.end()) return {0, fmt::format("SGLang fuses no shared expert of {}", facts.architecture)};
  std::string reason = switched_off(settings);
  if (reason.empty()) reason = rule->reason(facts, settings);
  if (!reason.empty()) return {0, fmt::format("SGLang fuses no shared expert {}", reason)};
  return {shared, fmt::format("SGLang fuses shared experts of {} with these options", facts.architecture)};
}

}  // namespace cubinet::warmup::engines
