// How a model's experts are stored, in the vocabularies of the quantizers.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "util/expected.hpp"
#include "warmup/planning/model.hpp"
#include "warmup/planning/model_fields.hpp"

namespace cubinet::warmup {

// What the quantization_config (or compression_config) of the language model or of the top level says, else `other`,
// the object of hf_quant_config.json (null: there is none); and expert_dtype before all. Two objects that say different
// things are an error, and so is one of another type.
Expected<ExpertWeights> read_weights(const nlohmann::json& top, const Places& places, const nlohmann::json* other,
                                     const std::string& origin);

// How one such object says that experts are stored; `name` stands before its keys in the reason. Types of which nothing
// is known are named as they are written.
ExpertWeights weights_of(const nlohmann::json& quantization, const std::string& name);

}  // namespace cubinet::warmup
