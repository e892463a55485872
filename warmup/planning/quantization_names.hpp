// The names in quantization configs: of types, and of modules that are or are not quantized.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "warmup/planning/model.hpp"

namespace cubinet::warmup {

// The text with ASCII letters in lower case.
std::string lower_case(std::string text);

// Weights that are not quantized.
ExpertWeights unquantized(std::string reason);
// Weights in FP8 with a scale per block of 128 x 128, which FP8 kernels take.
ExpertWeights fp8_in_blocks(std::string reason);
// Weights that no kernel takes as they are stored: BF16 kernels are planned.
ExpertWeights unserved(std::string stored, std::string reason);
// Weights of the type that expert_dtype, quant_algo, moe_quant_algo or quant_method names. The case of letters does not
// matter. An unknown type is unserved under its name.
ExpertWeights weights_of_type(const std::string& name, std::string reason);

// Whether a module's name, or a pattern for names, is that of routed experts. "re:^(?!.*experts).*$" matches all other
// modules, so it is not.
bool concerns_experts(std::string_view pattern);

// The experts that a quantization leaves in the model's type.
struct Excluded {
  bool everywhere = false;  // the experts of all layers
  bool somewhere = false;   // the experts of single layers
  std::string reason;       // the key and the pattern; empty if there are none
};

// Reads modules_to_not_convert, ignore, exclude_modules and ignored_layers of `config`. `name` is the prefix of its
// keys in the reason.
Excluded excluded_experts(const nlohmann::json& config, const std::string& name);

}  // namespace cubinet::warmup
