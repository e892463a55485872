// Tests of the shapes that follow from a config.json.
#include "catch.hpp"
#include "model_shape.hpp"
#include "reported_models.hpp"
#include "warmup/planning/model_problems.hpp"

namespace {

using namespace cubinet;
using test::message_of;
using test::parsed;
using warmup::MoeShape;

using Sizes = std::pair<std::int64_t, std::int64_t>;

// N and K of both GEMMs of each distinct layer, with a single rank.
std::vector<Sizes> sizes_of(const std::string& text) {
  const auto problems = warmup::problems_of(parsed(text), {}, {Layout::masked});
  INFO((problems ? std::string() : problems.error().message));
  REQUIRE(problems);
  std::vector<Sizes> sizes;
  for (const Problem& problem : *problems) sizes.emplace_back(problem.n, problem.k);
  return sizes;
}

}  // namespace

TEST_CASE("Models that were reported as planned wrong have the problems that engines launch") {
  for (const test::ReportedModel& model : test::reported_models()) {
    INFO(model.name);
    const MoeShape shape = parsed(model.text);
    CHECK((shape.weights.types == std::vector{model.type}));
    const auto problems = warmup::problems_of(shape, {.expert = 8}, {Layout::masked}, shape.weights.types);
    REQUIRE(problems);
    std::vector<Problem> expected;
    for (const std::int32_t groups : model.groups) {
      expected.push_back({model.type, Layout::masked, model.gemm1.first, model.gemm1.second, groups});
      expected.push_back({model.type, Layout::masked, model.gemm2.first, model.gemm2.second, groups});
    }
    CHECK((*problems == expected));
  }
}

TEST_CASE("Layers that differ in width or number of experts are planned separately, and equal ones once") {
  CHECK(sizes_of(R"({"hidden_size": 2560, "moe_num_experts": [64, 64], "moe_intermediate_size": [1536, 512]})") ==
        std::vector<Sizes>{{3072, 2560}, {2560, 1536}, {1024, 2560}, {2560, 512}});
  CHECK(sizes_of(R"({"hidden_size": 512, "num_experts": 8, "moe_intermediate_size": [0, 256, 128, 256]})") ==
        std::vector<Sizes>{{512, 512}, {512, 256}, {256, 512}, {512, 128}});
  const MoeShape shape = parsed(R"({"hidden_size": 512, "num_experts": [1, 16, 8], "moe_intermediate_size": 256})");
  REQUIRE(shape.layers.size() == 3);
  CHECK(shape.layers[1].experts == warmup::KeyedNumber{16, "num_experts[1]"});
  CHECK(shape.layers[1].width == warmup::KeyedNumber{256, "moe_intermediate_size"});
}

TEST_CASE("Lists of different lengths, or without a layer that has experts, are refused with both keys") {
  CHECK(message_of(R"({"hidden_size": 64, "num_experts": [8, 8], "moe_intermediate_size": [64, 64, 64]})") ==
        "m.json: num_experts has 2 values but moe_intermediate_size has 3");
  CHECK(message_of(R"({"hidden_size": 64, "num_experts": [8, 0], "moe_intermediate_size": [0, 64]})") ==
        "m.json: the model has no experts: no layer has both num_experts and moe_intermediate_size above 0");
  CHECK(message_of(R"({"hidden_size": 64, "num_experts": [0, 0], "moe_intermediate_size": 64})") ==
        "m.json: the model has no experts: num_experts is 0");
  for (const char* list : {"[]", "[8, -8]", "[8, 2.5]", "[8, \"8\"]", "[[8]]"}) {
    INFO(list);
    const std::string text = std::string(R"({"hidden_size": 64, "moe_intermediate_size": 64, "num_experts": )") + list;
    CHECK(message_of(text + "}").find("or one for each layer") != std::string::npos);
  }
}

TEST_CASE("The experts' width is intermediate_size for the model types that define it so") {
  for (const char* type : {"olmoe", "jamba", "hunyuan_v1_moe", "cohere2_moe", "flex_olmo"}) {
    INFO(type);
    CHECK(parsed(std::string(R"({"model_type": ")") + type +
                 R"(", "hidden_size": 2048, "intermediate_size": 1024, "num_experts": 64})")
              .layers.front()
              .width == warmup::KeyedNumber{1024, "intermediate_size"});
  }
  CHECK(parsed(R"({"model_type": "aria", "text_config": {"model_type": "aria_text", "hidden_size": 2560,
                   "intermediate_size": 1664, "moe_num_experts": 64}})")
            .layers.front()
            .width.value == 1664);
  CHECK(message_of(R"({"hidden_size": 2048, "intermediate_size": 1024, "moe_num_experts": 64})")
            .find("moe_intermediate_size is missing") != std::string::npos);
}

TEST_CASE("The keys of DBRX (within ffn_config), LongCat and Muse Spark are read") {
  CHECK(sizes_of(R"({"model_type": "dbrx", "d_model": 6144,
                     "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}})") ==
        std::vector<Sizes>{{21504, 6144}, {6144, 10752}});
  CHECK(sizes_of(R"({"model_type": "longcat_flash", "hidden_size": 6144, "ffn_hidden_size": 12288,
                     "expert_ffn_hidden_size": 2048, "n_routed_experts": 512, "zero_expert_num": 256})") ==
        std::vector<Sizes>{{4096, 6144}, {6144, 2048}});
  CHECK(sizes_of(R"({"model_type": "muse_spark_text", "hidden_size": 8192, "intermediate_size": 16384,
                     "moe_intermediate_size": 4096, "num_local_experts": 256, "moe_hidden_size": 4096})") ==
        std::vector<Sizes>{{8192, 4096}, {4096, 4096}});
}

TEST_CASE("Llama 4's experts' width is intermediate_size, not intermediate_size_mlp") {
  CHECK(sizes_of(R"({"model_type": "llama4", "text_config": {"model_type": "llama4_text", "hidden_size": 5120,
                     "intermediate_size": 8192, "intermediate_size_mlp": 16384, "num_local_experts": 128,
                     "interleave_moe_layer_step": 2}})") == std::vector<Sizes>{{16384, 5120}, {5120, 8192}});
}

TEST_CASE("The language model is found under each of its known keys") {
  for (const char* name : {"text_config", "llm_config", "language_config"}) {
    INFO(name);
    const MoeShape shape = parsed(std::string("{\"vision_config\": {\"hidden_size\": 8}, \"") + name +
                                  R"(": {"hidden_size": 64, "num_experts": 8, "moe_intermediate_size": 128}})");
    CHECK(shape.layers.front().hidden == warmup::KeyedNumber{64, std::string(name) + ".hidden_size"});
  }
}

TEST_CASE("A model with experts only under an unknown key is refused, and the key is named") {
  CHECK(message_of(R"({"backbone_config": {"hidden_size": 64, "num_experts": 8, "moe_intermediate_size": 128}})")
            .find("backbone_config has experts, but is not a known place for them") != std::string::npos);
}

TEST_CASE("Infinity and NaN are read as Python's json module writes them, and inside strings they are text") {
  const std::string model = R"("num_experts": 8, "moe_intermediate_size": 64, "hidden_size": 64)";
  for (const char* more : {R"("x": Infinity)", R"("x": -Infinity)", R"("x": NaN)", R"("x": [NaN,Infinity, -Infinity ])",
                           R"("NaN": "Infinity \" NaN", "-Infinity": "\\")"}) {
    INFO(more);
    CHECK(parsed(std::string("{") + more + ", " + model + "}").layers.front().experts.value == 8);
    CHECK(parsed("{" + model + ", " + more + "}").layers.front().experts.value == 8);
  }
  CHECK(parsed(R"({"model_type": "NaN", )" + model + "}").model_type == "NaN");
  CHECK(message_of(R"({"num_experts": 8, "moe_intermediate_size": 64, "hidden_size": Infinity})") ==
        "m.json: hidden_size is missing");
}

TEST_CASE("Words similar to Python's are refused, and errors after valid ones have the right position") {
  for (const char* word : {"Infinit", "Infinity2", "nan", "+Infinity", "NaNs", "- Infinity", "_NaN"}) {
    INFO(word);
    CHECK(message_of(std::string(R"({"x": )") + word + "}").find("m.json:1:") == 0);
  }
  CHECK(message_of("{\"x\": NaN, \"y\": [NaN, Infinity], oops}").find("m.json:1:34: not JSON") == 0);
}
