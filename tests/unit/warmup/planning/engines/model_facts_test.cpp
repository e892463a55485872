// Tests of the facts of a model that engines use.
#include "warmup/planning/engines/model_facts.hpp"
#include "catch.hpp"
#include "unit/warmup/planning/model_shape.hpp"

namespace {

using namespace cubinet;
using namespace cubinet::warmup::engines;

}  // namespace

TEST_CASE("The facts of a model that an engine uses are those in the model file") {
  const ModelFacts facts =
      facts_of(test::with_traits(test::fp8_shape_of(7168, 2048, 256), "DeepseekV3ForCausalLM", 8, 1, 512));
  CHECK(facts.architecture == "DeepseekV3ForCausalLM");
  CHECK(facts.quantization == "fp8");
  CHECK(facts.type == DataType::fp8);
  CHECK(facts.hidden == 7168);
  CHECK(facts.width == 2048);
  CHECK(facts.experts == 256);
  CHECK(facts.experts_per_token == 8);
  CHECK(facts.shared_experts == 1);
  CHECK(facts.shared_width == 512);
  CHECK(facts_of(test::shape_of(7168, 2048, 256)).type == DataType::bf16);
}

TEST_CASE("If layers differ, an engine uses the facts of the layer with the most experts") {
  warmup::MoeShape shape = test::shape_of(2048, 512, 32);
  shape.layers.push_back(test::shape_of(2048, 256, 64).layers.front());
  CHECK(facts_of(shape).experts == 64);
  CHECK(facts_of(shape).width == 256);
}
