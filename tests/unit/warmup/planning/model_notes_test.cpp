// Tests of the notes on parts of a model file that are not known.
#include "catch.hpp"
#include "reported_models.hpp"
#include "unit/util/temp_folder.hpp"
#include "warmup/planning/model.hpp"

namespace {

using namespace cubinet;

// The notes on a model with these additional keys.
std::vector<std::string> notes_of(const std::string& more) {
  const auto shape = warmup::parse_model(
      {R"({"num_experts": 8, "moe_intermediate_size": 128, "hidden_size": 128, )" + more + "}", "m.json"});
  INFO((shape ? std::string() : shape.error().message));
  REQUIRE(shape);
  return shape->notes;
}

std::vector<std::string> unknown(const std::string& keys) {
  return {"not understood, and may change the experts' shapes or type: " + keys};
}

}  // namespace

TEST_CASE("An unknown key that looks like a size or type of the experts is named with its value") {
  CHECK(notes_of(R"("expert_projection_size": 64)") == unknown("expert_projection_size 64"));
  CHECK(notes_of(R"("moe_widths": [64, 32], "routed_dim": 2.5)") == unknown("moe_widths [64,32], routed_dim 2.5"));
  CHECK(notes_of(R"("moe_dtype": "nvfp4")") == unknown("moe_dtype \"nvfp4\""));
  CHECK(notes_of(R"("block_configs": [{"a": 1}, {"moe_intermediate_size": 64}, {"moe_intermediate_size": 32}])") ==
        unknown("block_configs[].moe_intermediate_size 64"));
  CHECK(notes_of(R"("moe_config": {"latent": {"width": 1, "latent_dim": 7}})") ==
        unknown("moe_config.latent.latent_dim 7"));
}

TEST_CASE("An unknown key that seems to say that experts have no gate is named") {
  CHECK(notes_of(R"("moe_activation": "relu2")") == unknown("moe_activation \"relu2\""));
  CHECK(notes_of(R"("mlp_gated": false)") == unknown("mlp_gated false"));
  CHECK(notes_of(R"("mlp_hidden_act": "silu", "hidden_act": "relu2", "use_glu": true, "gated_attention": false)")
            .empty());
}

TEST_CASE("Many unknown keys are named in one line") {
  std::string keys = R"("moe_0": 1)";
  for (int i = 1; i < 1000; ++i) keys += ", \"moe_" + std::to_string(i) + "\": 1";
  const auto notes = notes_of(keys);
  REQUIRE(notes.size() == 1);
  CHECK(notes.front().ends_with(", and 988 more"));
  CHECK(notes.front().size() < 300);
}

TEST_CASE("Keys about routing, shared experts or other towers, and unrelated keys, get no note") {
  CHECK(notes_of(R"("num_experts_per_tok": 8, "n_shared_experts": 1, "router_aux_loss_coef": 0.1,
                    "routed_scaling_factor": 2.5, "moe_layer_freq": 1, "norm_topk_prob": true, "vocab_size": 9,
                    "shared_expert_intermediate_size": 64, "moe_implementation": "fused", "expert_bias": null,
                    "vision_config": {"intermediate_size": 3, "moe_widths": 3}, "quantization_config": null)")
            .empty());
}

TEST_CASE("An unknown model_type gets a note, and so does an activation that may have no gate") {
  CHECK(notes_of(R"("model_type": "a_new_moe")") ==
        std::vector<std::string>{"model_type a_new_moe is unknown; compare the shapes with the engine's log"});
  CHECK(notes_of(R"("model_type": "qwen3_moe", "hidden_act": "silu")").empty());
  CHECK(notes_of(R"("hidden_act": "xielu")") ==
        std::vector<std::string>{"hidden_act xielu is unknown; the experts are assumed to have a gate"});
}

TEST_CASE("Towers with experts besides the language model are named as ignored") {
  CHECK(notes_of(R"("vision_config": {"num_experts": 4}, "a_config": {"talker": {"n_routed_experts": 4}})") ==
        std::vector<std::string>{
            "the plan is the language model's; experts of a_config.talker and of vision_config are left out"});
}

TEST_CASE("Each reported model gets exactly the expected notes") {
  for (const test::ReportedModel& model : test::reported_models()) {
    INFO(model.name);
    const auto shape = warmup::parse_model({model.text, "m.json"});
    REQUIRE(shape);
    const bool of_weights = !shape->weights.served;
    CHECK(shape->notes.size() + (of_weights ? 1 : 0) == (*model.note == '\0' ? 0 : 1));
  }
}
