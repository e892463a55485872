// Models as parse_model() returns them, for tests.
#pragma once

#include <cstdint>
#include <string>

#include "catch.hpp"
#include "warmup/planning/model.hpp"

namespace cubinet::test {

// The model that the text describes.
inline warmup::MoeShape parsed(const std::string& text) {
  const auto shape = warmup::parse_model({text, "m.json"});
  INFO((shape ? std::string() : shape.error().message));
  REQUIRE(shape);
  return *shape;
}

// The message with which the text is refused as a model.
inline std::string message_of(const std::string& text) {
  const auto shape = warmup::parse_model({text, "m.json"});
  REQUIRE_FALSE(shape);
  return shape.error().message;
}

// A model whose experts are all of one shape, unquantized.
inline warmup::MoeShape shape_of(std::int64_t hidden, std::int64_t width, std::int64_t experts) {
  warmup::MoeShape shape;
  shape.model_type = "a_model";
  shape.layers = {{{experts, "num_experts"}, {width, "moe_intermediate_size"}, {hidden, "hidden_size"}}};
  return shape;
}

// The same with weights in FP8 blocks.
inline warmup::MoeShape fp8_shape_of(std::int64_t hidden, std::int64_t width, std::int64_t experts) {
  warmup::MoeShape shape = shape_of(hidden, width, experts);
  shape.quantization = "fp8";
  shape.weights = {{DataType::fp8}, "FP8 in blocks of 128 x 128", "quantization_config.quant_method fp8"};
  return shape;
}

// The same with the facts that engines use.
inline warmup::MoeShape with_traits(warmup::MoeShape shape, const char* architecture, std::int64_t experts_per_token,
                                    std::int64_t shared_experts, std::int64_t shared_width) {
  shape.architecture = architecture;
  shape.experts_per_token = experts_per_token;
  shape.shared_experts = shared_experts;
  shape.shared_width = shared_width;
  return shape;
}

}  // namespace cubinet::test
