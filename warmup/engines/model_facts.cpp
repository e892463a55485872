#include "warmup/engines/model_facts.hpp"

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

}  // namespace cubinet::warmup::engines
