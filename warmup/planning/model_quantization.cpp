#include "warmup/planning/model_quantization.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cubinet/scales.hpp"

namespace cubinet::warmup {
namespace {

using nlohmann::json;

// The names of types, in lower case: expert_dtype, quant_algo, moe_quant_algo and quant_method use them.
struct NamedType {
  std::string_view name;
  const char* stored;  // null: not quantized
  bool served = false;
};
constexpr const char* fp8_blocks = "FP8 in blocks of 128 x 128";
constexpr NamedType named_types[] = {
    {"bf16", nullptr},
    {"bfloat16", nullptr},
    {"fp8_pb_wo", fp8_blocks, true},  // ModelOpt
    {"fp8_block_scales", fp8_blocks, true},
    {"fp8", "FP8 with a scale per tensor"},
    {"fbgemm_fp8", "FP8 with a scale per channel"},
    {"fp8_per_channel_per_token", "FP8 with a scale per channel"},
    {"fp4", "FP4"},
    {"mxfp4", "MXFP4"},
    {"nvfp4", "NVFP4"},
    {"mxfp8", "MXFP8"},
    {"awq", "INT4 (AWQ)"},
    {"gptq", "integers (GPTQ)"},
    {"int4_awq", "INT4 (AWQ)"},
    {"w4a16_awq", "INT4 (AWQ)"},
    {"w4a8_awq", "INT4 (AWQ)"},
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return text;
}

ExpertWeights plain(std::string reason) { return {.reason = std::move(reason)}; }
ExpertWeights blocks(std::string reason) { return {{DataType::fp8}, fp8_blocks, std::move(reason)}; }
ExpertWeights unserved(std::string stored, std::string reason) {
  return {{DataType::bf16}, std::move(stored), std::move(reason), false};
}

ExpertWeights of_name(const std::string& name, std::string reason) {
  const auto* const known = std::find_if(std::begin(named_types), std::end(named_types),
                                         [&](const NamedType& type) { return type.name == lower(name); });
  if (known == std::end(named_types)) return unserved(name, std::move(reason));
  if (known->stored == nullptr) return plain(std::move(reason));
  return known->served ? blocks(std::move(reason)) : unserved(known->stored, std::move(reason));
}

// [128,128], which some files write as "128x128".
bool is_served_block(const json& block) {
  return block == json({scale_block(), scale_block()}) || block == json(fmt::format("{0}x{0}", scale_block()));
}

// Of the method "fp8": scales are for blocks of weights, or there is one for each tensor.
ExpertWeights of_fp8(const json& config, const std::string& reason) {
  const json* block = member(config, "weight_block_size");
  if (block == nullptr) return of_name("fp8", reason + " without weight_block_size");
  const std::string with_block = fmt::format("{}, weight_block_size {}", reason, shown(*block));
  return is_served_block(*block) ? blocks(with_block) : unserved("FP8 in blocks of " + shown(*block), with_block);
}

// Whether a module's name, or a pattern for names, is one of routed experts: "re:^(?!.*experts).*$" is of all others.
bool concerns_experts(std::string_view pattern) {
  const std::string_view before = pattern.substr(0, pattern.find("experts"));
  if (before.size() == pattern.size() || before.find("shared") != std::string_view::npos) return false;
  const std::size_t without = before.rfind("(?!");
  return without == std::string_view::npos || before.find(')', without) != std::string_view::npos;
}

// The `weights` of a group of compressed-tensors: {num_bits, type, strategy, block_structure}.
ExpertWeights of_weights(const json& weights, const std::string& format, const std::string& reason) {
  if (format == "nvfp4-pack-quantized" || format == "mxfp4-pack-quantized") {
    return of_name(format.substr(0, 5), reason + ".format " + format);
  }
  const json* bits = member(weights, "num_bits");
  const std::string type = text_at(weights, "type");
  const std::string strategy = text_at(weights, "strategy");
  const std::string said = fmt::format("{}.weights: num_bits {}, type {}, strategy {}", reason,
                                       bits == nullptr ? "none" : shown(*bits), type, strategy);
  const std::string name = (type == "float" ? "FP" : "INT") + (bits == nullptr ? "?" : shown(*bits));
  if (strategy != "block") return unserved(fmt::format("{} with a scale per {}", name, strategy), said);
  const json* block = member(weights, "block_structure");
  const std::string with_block = said + ", block_structure " + (block == nullptr ? "none" : shown(*block));
  if (name == "FP8" && block != nullptr && is_served_block(*block)) return blocks(with_block);
  return unserved(fmt::format("{} in blocks", name), with_block);
}

bool targets_experts(const json& group) {
  const json* targets = member(group, "targets");
  return targets != nullptr && targets->is_array() &&
         std::any_of(targets->begin(), targets->end(), [](const json& target) {
           return target.is_string() && concerns_experts(target.get_ref<const std::string&>());
         });
}

// Whether all targets of a group are attention's.
bool targets_attention(const json& group) {
  const json* targets = member(group, "targets");
  return targets != nullptr && targets->is_array() && !targets->empty() &&
         std::all_of(targets->begin(), targets->end(), [](const json& target) {
           return target.is_string() && target.get_ref<const std::string&>().find("attn") != std::string::npos;
         });
}

// Of compressed-tensors: the groups that are for experts by name, else all that may be for them.
ExpertWeights of_groups(const json& config, const std::string& name) {
  const json* groups = member(config, "config_groups");
  if (groups == nullptr || !groups->is_object()) {
    return unserved("compressed-tensors", name + ".quant_method compressed-tensors without config_groups");
  }
  const bool named = std::any_of(groups->begin(), groups->end(), targets_experts);
  std::optional<ExpertWeights> agreed;
  for (const auto& [key, group] : groups->items()) {
    const json* weights = group.is_object() ? member(group, "weights") : nullptr;
    if (weights == nullptr || !weights->is_object()) continue;
    if (named ? !targets_experts(group) : targets_attention(group)) continue;
    const std::string own_format = text_at(group, "format");
    auto found = of_weights(*weights, own_format.empty() ? text_at(config, "format") : own_format,
                            fmt::format("{}.config_groups.{}", name, key));
    if (agreed && agreed->stored != found.stored) return unserved("several types", name + ".config_groups");
    if (!agreed) agreed = std::move(found);
  }
  return agreed.value_or(plain(name + ".config_groups has no weights"));
}

// quantized_layers of a mixed model: what it says of the experts, where that is one thing.
std::optional<std::string> algorithm_of_layers(const json& config) {
  const json* layers = member(config, "quantized_layers");
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

ExpertWeights of_algorithm(const json& config, const std::string& name) {
  const std::string algorithm = text_at(config, "quant_algo");
  if (lower(algorithm) != "mixed_precision") return of_name(algorithm, name + ".quant_algo " + algorithm);
  const auto of_experts = algorithm_of_layers(config);
  if (!of_experts) return unserved("mixed types", name + ".quant_algo " + algorithm);
  return of_name(*of_experts, name + ".quantized_layers: experts are " + *of_experts);
}

// What the object says of all modules.
ExpertWeights of_all(const json& config, const std::string& name) {
  const std::string method = text_at(config, "quant_method");
  const std::string reason = name + ".quant_method " + method;
  if (!text_at(config, "quant_algo").empty() && method != "fp8") return of_algorithm(config, name);
  if (method == "fp8") return of_fp8(config, reason);
  if (method == "compressed-tensors") return of_groups(config, name);
  const bool cache_alone = !text_at(config, "kv_cache_quant_algo").empty();
  if (cache_alone && (method.empty() || method == "modelopt")) return plain(name + ".kv_cache_quant_algo alone");
  if (method.empty()) return unserved("an unnamed method", name + " without quant_method");
  return of_name(method, reason);
}

// The modules that are left as they were.
constexpr std::array exclusions{"modules_to_not_convert", "ignore", "exclude_modules", "ignored_layers"};

struct Excluded {
  bool everywhere = false;  // the experts of all layers
  bool somewhere = false;   // those of single layers
  std::string reason;
};

// A module's name, or a pattern, without what stands for anything: of "re:.*mlp.*" and "*.mlp*" that is "mlp".
std::string plain_name(std::string_view pattern) {
  if (pattern.starts_with("re:")) pattern.remove_prefix(3);
  std::string plain;
  std::copy_if(pattern.begin(), pattern.end(), std::back_inserter(plain),
               [](char c) { return c != '\\' && c != '*' && c != '^' && c != '$'; });
  plain.resize(plain.find_last_not_of('.') + 1);
  return plain.substr(std::min(plain.find_first_not_of('.'), plain.size()));
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool names_a_layer(std::string_view pattern) {
  constexpr std::string_view layers = "layers";
  const std::size_t at = pattern.find(layers);
  const bool numbered =
      at != std::string_view::npos && pattern.find_first_of("0123456789", at) != std::string_view::npos;
  return numbered || pattern.find("mtp") != std::string_view::npos;
}

// Whether a module that has experts is named as a whole: a layer, or its MLP.
bool holds_experts(std::string_view pattern) {
  constexpr std::array mlps{"mlp", "block_sparse_moe", "feed_forward", "mtp"};
  for (const char* tower : {"vis", "audio"}) {
    if (pattern.find(tower) != std::string_view::npos) return false;
  }
  const std::string plain = plain_name(pattern);
  const std::size_t last = plain.rfind('.') + 1;  // npos + 1 is 0
  const std::string module = plain.substr(last);
  const std::string around = plain.substr(0, last);
  if (is_number(module)) return around.ends_with("layers.");
  const bool in_layers = around.empty() || around == "model." || around.find("layers") != std::string::npos;
  return in_layers && std::find(mlps.begin(), mlps.end(), module) != mlps.end();
}

Excluded excluded_experts(const json& config, const std::string& name) {
  Excluded excluded;
  for (const char* key : exclusions) {
    const json* modules = member(config, key);
    if (modules == nullptr || !modules->is_array()) continue;
    for (const json& module : *modules) {
      if (!module.is_string()) continue;
      const auto& pattern = module.get_ref<const std::string&>();
      if (!concerns_experts(pattern) && !holds_experts(pattern)) continue;
      const bool single = names_a_layer(pattern);
      (single ? excluded.somewhere : excluded.everywhere) = true;
      if (excluded.reason.empty() || !single) excluded.reason = fmt::format("{}.{} {}", name, key, shown(module));
    }
  }
  return excluded;
}

// expert_dtype and the like go before what is said of all modules; "fp8" leaves it to that how its scales lie.
std::optional<ExpertWeights> of_experts(const json& object, std::string_view key, const std::string& prefix) {
  const std::string type = text_at(object, key);
  if (type.empty() || lower(type) == "fp8") return std::nullopt;
  return of_name(type, fmt::format("{}{} {}", prefix, key, type));
}

std::string stored_text(const ExpertWeights& weights) { return weights.stored.empty() ? "BF16" : weights.stored; }

struct Quantization {
  ExpertWeights weights;
  std::string name;
};

Expected<std::optional<Quantization>> quantization_at(const Place& place, const char* key, const std::string& origin) {
  const std::string name = place.prefix + key;
  const json* config = member(*place.object, key);
  if (config == nullptr) return std::nullopt;
  if (!config->is_object()) return wrong_type(origin, name, *config, "an object");
  if (config->empty()) return std::nullopt;
  const json* method = member(*config, "quant_method");
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

// What stands beside no quantization: the type of the model.
ExpertWeights unquantized(const Places& places) {
  for (const Place& place : places) {
    const std::string type = text_at(*place.object, expert_dtype_key);
    if (type.empty()) continue;
    return unserved(type + " with scales of which nothing is said",
                    fmt::format("{}{} {}", place.prefix, expert_dtype_key, type));
  }
  for (const Place& place : places) {
    for (const char* key : {"dtype", "torch_dtype"}) {
      const std::string type = text_at(*place.object, key);
      if (type == "float16") return unserved("FP16", fmt::format("{}{} float16", place.prefix, key));
      if (type == "bfloat16") return plain(fmt::format("{}{} bfloat16", place.prefix, key));
    }
  }
  return plain("no quantization_config");
}

}  // namespace

ExpertWeights weights_of(const json& config, const std::string& name) {
  for (const char* key : {"moe_quant_algo", "expert_dtype"}) {
    if (auto own = of_experts(config, key, name + ".")) return *std::move(own);
  }
  ExpertWeights weights = of_all(config, name);
  const Excluded excluded = excluded_experts(config, name);
  if (excluded.everywhere) return plain(excluded.reason);
  if (excluded.somewhere && weights.types.front() != DataType::bf16) {
    weights.types.push_back(DataType::bf16);
    weights.reason += ", but BF16 in some layers: " + excluded.reason;
  }
  return weights;
}

Expected<ExpertWeights> read_weights(const json& top, const Places& places, const json* other,
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
  return unquantized(all);
}

}  // namespace cubinet::warmup
