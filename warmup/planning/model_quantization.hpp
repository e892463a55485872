// How the weights of a model's experts are stored, as quantizers write it to config.json.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "util/expected.hpp"
#include "warmup/planning/model.hpp"
#include "warmup/planning/model_fields.hpp"

namespace cubinet::warmup {

// How the experts are stored. In this order: expert_dtype; quantization_config or compression_config of the language
// model or of the top level; `other`, the object of hf_quant_config.json (null if there is none); the model's dtype.
// Errors (invalid_argument): two objects contradict each other, or one is not an object.
Expected<ExpertWeights> read_weights(const nlohmann::json& top, const Places& places, const nlohmann::json* other,
                                     const std::string& origin);

}  // namespace cubinet::warmup
