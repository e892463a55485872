#include "warmup/planning/quantization_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "warmup/planning/model_fields.hpp"

namespace cubinet::warmup {
namespace {

using Json = nlohmann::json;

// A type's name in lower case, and how weights of this type are stored.
struct NamedType {
  std::string_view name;
  const char* stored;  // null if not quantized
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

// The keys that list modules which are not quantized.
constexpr std::array exclusions{"modules_to_not_convert", "ignore", "exclude_modules", "ignored_layers"};

// A module's name or a pattern without wildcards: "mlp" for "re:.*mlp.*" and for "*.mlp*".
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

// Whether the pattern names a single layer.
bool names_a_layer(std::string_view pattern) {
  constexpr std::string_view layers = "layers";
  const std::size_t at = pattern.find(layers);
  const bool numbered =
      at != std::string_view::npos && pattern.find_first_of("0123456789", at) != std::string_view::npos;
  return numbered || pattern.find("mtp") != std::string_view::npos;
}

// Whether the pattern names a whole module that contains experts: a layer or its MLP.
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

}  // namespace

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return text;
}

ExpertWeights unquantized(std::string reason) { return {.reason = std::move(reason)}; }
ExpertWeights fp8_in_blocks(std::string reason) { return {{DataType::fp8}, fp8_blocks, std::move(reason)}; }
ExpertWeights unserved(std::string stored, std::string reason) {
  return {{DataType::bf16}, std::move(stored), std::move(reason), false};
}

ExpertWeights weights_of_type(const std::string& name, std::string reason) {
  const auto* const known = std::find_if(std::begin(named_types), std::end(named_types),
                                         [&](const NamedType& type) { return type.name == lower_case(name); });
  if (known == std::end(named_types)) return unserved(name, std::move(reason));
  if (known->stored == nullptr) return unquantized(std::move(reason));
  return known->served ? fp8_in_blocks(std::move(reason)) : unserved(known->stored, std::move(reason));
}

bool concerns_experts(std::string_view pattern) {
  const std::string_view before = pattern.substr(0, pattern.find("experts"));
  if (before.size() == pattern.size() || before.find("shared") != std::string_view::npos) return false;
  const std::size_t without = before.rfind("(?!");
  return without == std::string_view::npos || before.find(')', without) != std::string_view::npos;
}

Excluded excluded_experts(const Json& config, const std::string& name) {
  Excluded excluded;
  for (const char* key : exclusions) {
    const Json* modules = member(config, key);
    if (modules == nullptr || !modules->is_array()) continue;
    for (const Json& module : *modules) {
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

}  // namespace cubinet::warmup
