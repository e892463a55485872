#include "warmup/planning/engines/model_facts.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cubinet::warmup::engines {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

constexpr std::int64_t largest_product = std::int64_t{1} << 60;

}  // namespace

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
      !own.empty() && own != "fp8";  // fp8_per_block and similar values are for weights that are not quantized
  return named == own || (has_kinds && named.starts_with(own + "_"));
}

std::int64_t bounded_product(std::int64_t a, std::int64_t b) {
  return b > 0 && a > largest_product / b ? largest_product : a * b;
}

std::int64_t groups_per_rank(std::int64_t experts, const Parallelism& parallelism) {
  return ceil_div(experts + parallelism.redundant, parallelism.expert) + parallelism.fused_shared;
}

Derivation contiguous_rows(std::int64_t tokens, std::int64_t copies, std::int64_t groups, const std::string& how) {
  const std::int64_t assignments = bounded_product(tokens, copies);
  const std::int64_t padding = std::min(assignments, groups) * (row_alignment - 1);
  return {"largest M, contiguous", ceil_div(assignments + padding, row_alignment) * row_alignment,
          fmt::format("{} tokens ({}) x {} experts per token, and {} rows of padding in each of {} groups", tokens, how,
                      copies, row_alignment - 1, std::min(assignments, groups))};
}

Derivation expected_rows(std::int64_t tokens, std::int64_t copies, std::int64_t experts, const std::string& how) {
  return {"largest M, masked", ceil_div(bounded_product(tokens, copies), experts),
          fmt::format("{} tokens ({}) x {} experts per token / {} experts", tokens, how, copies, experts)};
}

}  // namespace cubinet::warmup::engines
