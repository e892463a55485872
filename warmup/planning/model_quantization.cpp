#include "warmup/planning/model_quantization.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cubinet/scales.hpp"
#include "warmup/planning/quantization_names.hpp"

namespace cubinet::warmup {
namespace {

using Json = nlohmann::json;

// Whether the block is [128,128], which some files write as "128x128".
bool is_served_block(const Json& block) {
  return block == Json({scale_block(), scale_block()}) || block == Json(fmt::format("{0}x{0}", scale_block()));
}

// For the method "fp8": there is one scale per block of weights, or one per tensor.
ExpertWeights of_fp8(const Json& config, const std::string& reason) {
  const Json* block = member(config, "weight_block_size");
  if (block == nullptr) return weights_of_type("fp8", reason + " without weight_block_size");
  const std::string with_block = fmt::format("{}, weight_block_size {}", reason, shown(*block));
  return is_served_block(*block) ? fp8_in_blocks(with_block)
                                 : unserved("FP8 in blocks of " + shown(*block), with_block);
}

// For the `weights` of a group of compressed-tensors: {num_bits, type, strategy, block_structure}.
ExpertWeights of_weights(const Json& weights, const std::string& format, const std::string& reason) {
  if (format == "nvfp4-pack-quantized" || format == "mxfp4-pack-quantized") {
    return weights_of_type(format.substr(0, 5), reason + ".format " + format);
  }
  const Json* bits = member(weights, "num_bits");
  const std::string type = text_at(weights, "type");
  const std::string strategy = text_at(weights, "strategy");
  const std::string said = fmt::format("{}.weights: num_bits {}, type {}, strategy {}", reason,
                                       bits == nullptr ? "none" : shown(*bits), type, strategy);
  const std::string name = (type == "float" ? "FP" : "INT") + (bits == nullptr ? "?" : shown(*bits));
  if (strategy != "block") return unserved(fmt::format("{} with a scale per {}", name, strategy), said);
  const Json* block = member(weights, "block_structure");
  const std::string with_block = said + ", block_structure " + (block == nullptr ? "none" : shown(*block));
  if (name == "FP8" && block != nullptr && is_served_block(*block)) return fp8_in_blocks(with_block);
  return unserved(fmt::format("{} in blocks", name), with_block);
}

bool targets_experts(const Json& group) {
  const Json* targets = member(group, "targets");
  return targets != nullptr && targets->is_array() &&
         std::any_of(targets->begin(), targets->end(), [](const Json& target) {
           return target.is_string() && concerns_experts(target.get_ref<const std::string&>());
         });
}

// Whether all targets of a group are attention modules.
bool targets_attention(const Json& group) {
  const Json* targets = member(group, "targets");
  return targets != nullptr && targets->is_array() && !targets->empty() &&
         std::all_of(targets->begin(), targets->end(), [](const Json& target) {
           return target.is_string() && target.get_ref<const std::string&>().find("attn") != std::string::npos;
         });
}

// For compressed-tensors: from the groups that name experts as targets, or if none does, from all groups that can apply
// to them.
ExpertWeights of_groups(const Json& config, const std::string& name) {
  const Json* groups = member(config, "config_groups");
  if (groups == nullptr || !groups->is_object()) {
    return unserved("compressed-tensors", name + ".quant_method compressed-tensors without config_groups");
  }
  const bool named = std::any_of(groups->begin(), groups->end(), targets_experts);
  std::optional<ExpertWeights> agreed;
  for (const auto& [key, group] : groups->items()) {
    const Json* weights = group.is_object() ? member(group, "weights") : nullptr;
    if (weights == nullptr || !weights->is_object()) continue;
    if (named ? !targets_experts(group) : targets_attention(group)) continue;
    const std::string own_format = text_at(group, "format");
    auto found = of_weights(*weights, own_format.empty() ? text_at(config, "format") : own_format,
                            fmt::format("{}.config_groups.{}", name, key));
    if (agreed && agreed->stored != found.stored) return unserved("several types", name + ".config_groups");
    if (!agreed) agreed = std::move(found);
  }
  return agreed.value_or(unquantized(name + ".config_groups has no weights"));
}

// For a mixed model: the algorithm that quantized_layers gives for the experts; none if it gives several or none.
std::optional<std::string> algorithm_of_layers(const Json& config) {
  const Json* layers = member(config, "quantized_layers");
  std::optional<std::string> agreed;
  if (layers == nullptr || !layers->is_object()) return agreed;
  for (const auto& [module, said] : layers->items()) {
    if (!concerns_experts(module) || !said.is_object()) continue;
    const std::string algorithm = text_at(said, "quant_algo");
    if (agreed && *agreed != algorithm) return std::nullopt;
    agreed = algorithm;
  }
  return agreed;
}

ExpertWeights of_algorithm(const Json& config, const std::string& name) {
  const std::string algorithm = text_at(config, "quant_algo");
  if (lower_case(algorithm) != "mixed_precision") return weights_of_type(algorithm, name + ".quant_algo " + algorithm);
  const auto of_experts = algorithm_of_layers(config);
  if (!of_experts) return unserved("mixed types", name + ".quant_algo " + algorithm);
  return weights_of_type(*of_experts, name + ".quantized_layers: experts are " + *of_experts);
}

// How all modules are stored according to a quantization object.
ExpertWeights of_all(const Json& config, const std::string& name) {
  const std::string method = text_at(config, "quant_method");
  const std::string reason = name + ".quant_method " + method;
  if (!text_at(config, "quant_algo").empty() && method != "fp8") return of_algorithm(config, name);
  if (method == "fp8") return of_fp8(config, reason);
  if (method == "compressed-tensors") return of_groups(config, name);
  const bool cache_alone = !text_at(config, "kv_cache_quant_algo").empty();
  if (cache_alone && (method.empty() || method == "modelopt")) return unquantized(name + ".kv_cache_quant_algo alone");
  if (method.empty()) return unserved("an unnamed method", name + " without quant_method");
  return weights_of_type(method, reason);
}

// How the experts are stored according to expert_dtype or a similar key, which takes precedence over the type of all
// modules. None for "fp8", because the key does not say how the scales are arranged.
std::optional<ExpertWeights> of_experts(const Json& object, std::string_view key, const std::string& prefix) {
  const std::string type = text_at(object, key);
  if (type.empty() || lower_case(type) == "fp8") return std::nullopt;
  return weights_of_type(type, fmt::format("{}{} {}", prefix, key, type));
}

// How experts are stored according to one object of a quantization. `name` is the prefix of its keys in the reason.
// Unknown types keep their name from the file and are not served.
ExpertWeights weights_of(const Json& config, const std::string& name) {
  for (const char* key : {"moe_quant_algo", "expert_dtype"}) {
    if (auto own = of_experts(config, key, name + ".")) return *std::move(own);
  }
  ExpertWeights weights = of_all(config, name);
  const Excluded excluded = excluded_experts(config, name);
  if (excluded.everywhere) return unquantized(excluded.reason);
  if (excluded.somewhere && weights.types.front() != DataType::bf16) {
    weights.types.push_back(DataType::bf16);
    weights.reason += ", but BF16 in some layers: " + excluded.reason;
  }
  return weights;
}

std::string stored_text(const ExpertWeights& weights) { return weights.stored.empty() ? "BF16" : weights.stored; }

struct Quantization {
  ExpertWeights weights;
  std::string name;
};

Expected<std::optional<Quantization>> quantization_at(const Place& place, const char* key, const std::string& origin) {
  const std::string name = place.prefix + key;
  const Json* config = member(*place.object, key);
  if (config == nullptr) return std::nullopt;
  if (!config->is_object()) return wrong_type(origin, name, *config, "an object");
  if (config->empty()) return std::nullopt;
  const Json* method = member(*config, "quant_method");
  if (method != nullptr && !method->is_string()) return wrong_type(origin, name + ".quant_method", *method, "a text");
  return Quantization{weights_of(*config, name), name};
}

Expected<std::optional<Quantization>> read_agreed_quantization(const Places& places, const std::string& origin) {
  std::optional<Quantization> agreed;
  for (const Place& place : places) {
    for (const char* key : {"quantization_config", "compression_config"}) {
      auto found = quantization_at(place, key, origin);
      if (!found) return found;
      if (!*found) continue;
      if (!agreed) agreed = **found;
      const std::string first = stored_text(agreed->weights);
      const std::string second = stored_text((*found)->weights);
      if (first == second) continue;
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{}: {} is {} but {} is {}", origin, agreed->name, first, (*found)->name, second));
    }
  }
  return agreed;
}

// How experts are stored without quantization: in the model's type.
ExpertWeights weights_of_model_type(const Places& places) {
  for (const Place& place : places) {
    const std::string type = text_at(*place.object, expert_dtype_key);
    if (type.empty()) continue;
    return unserved(type + " with unknown scales", fmt::format("{}{} {}", place.prefix, expert_dtype_key, type));
  }
  for (const Place& place : places) {
    for (const char* key : {"dtype", "torch_dtype"}) {
      const std::string type = text_at(*place.object, key);
      if (type == "float16") return unserved("FP16", fmt::format("{}{} float16", place.prefix, key));
      if (type == "bfloat16") return unquantized(fmt::format("{}{} bfloat16", place.prefix, key));
    }
  }
  return unquantized("no quantization_config");
}

}  // namespace

Expected<ExpertWeights> read_weights(const Json& top, const Places& places, const Json* other,
                                     const std::string& origin) {
  Places all = places;
  if (all.front().object != &top) all.push_back({&top, ""});
  const auto quantization = read_agreed_quantization(all, origin);
  if (!quantization) return propagate(quantization);
  for (const Place& place : all) {
    if (auto own = of_experts(*place.object, expert_dtype_key, place.prefix)) return *std::move(own);
  }
  if (*quantization) return (*quantization)->weights;
  if (other != nullptr) return weights_of(*other, "hf_quant_config.json");
  return weights_of_model_type(all);
}

}  // namespace cubinet::warmup
