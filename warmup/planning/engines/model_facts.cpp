#include "warmup/planning/engines/model_facts.hpp"

#include <algorithm>

namespace cubinet::warmup::engines {

ModelFacts facts_of(const MoeShape& shape) {
  const auto& types = shape.weights.types;
  const bool fp8 = std::find(types.begin(), types.end(), DataType::fp8) != types.end();
  const auto fewer = [](const ExpertShape& a, const ExpertShape& b) { return a.experts.value < b.experts.value; };
  const ExpertShape& layer = *std::max_element(shape.layers.begin(), shape.layers.end(), fewer);
  return {.architecture = shape.architecture,
          .quantization = shape.quantization,
          .type = fp8 ? DataType::fp8 : DataType::bf16,
          .hidden = layer.hidden.value,
          .width = layer.width.value,
          .experts = layer.experts.value,
          .experts_per_token = shape.experts_per_token,
          .shared_experts = shape.shared_experts,
          .shared_width = shape.shared_width};
}

bool names_own_quantization(const ModelFacts& facts, std::string_view option) {
  std::string own = facts.quantization;
  std::string named(option);
  for (std::string* text : {&own, &named}) std::replace(text->begin(), text->end(), '-', '_');
  const bool has_kinds =
      !own.empty() && own != "fp8";  // fp8_per_block and the like are for weights that are not quantized
  return named == own || (has_kinds && named.starts_with(own + "_"));
}

}  // namespace cubinet::warmup::engines
