#include "warmup/planning/model_problems.hpp"
#include "warmup/planning/plan_json.hpp"

#include "catch.hpp"
#include "warmup/planning/model_problems.hpp"

namespace {

using namespace cubinet;
using warmup::Derivation;

std::vector<Derivation> derived(const std::string& text, const warmup::Parallelism& parallelism) {
  const auto shape = warmup::parse_model({text, "m.json"});
  REQUIRE(shape);
  REQUIRE(warmup::problems_of(*shape, parallelism, {Layout::masked}));
  return warmup::derivation_of(*shape, parallelism);
}

constexpr const char* deepseek = R"({"n_routed_experts": 256, "moe_intermediate_size": 2048, "hidden_size": 7168})";

}  // namespace

TEST_CASE("Each number of a plan is derived from the keys and options that lead to it") {
  CHECK((derived(deepseek, {.expert = 8, .tensor = 2}) ==
         std::vector<Derivation>{{"groups", 32, "n_routed_experts 256 / ep 8"},
                                 {"GEMM1 N", 2048, "2 x moe_intermediate_size 2048 / 2"},
                                 {"GEMM1 K", 7168, "hidden_size"},
                                 {"GEMM2 N", 7168, "hidden_size"},
                                 {"GEMM2 K", 1024, "moe_intermediate_size 2048 / 2"}}));
}

TEST_CASE("A derivation names redundant and fused experts, an uneven distribution and padding") {
  const auto lines = derived(deepseek, {.expert = 7, .redundant = 2, .fused_shared = 1, .padded_hidden = 8192});
  REQUIRE(lines.size() == 6);
  CHECK((lines[0] ==
         Derivation{"groups", 38, "(n_routed_experts 256 + redundant 2) / ep 7, rounded up + fused shared 1"}));
  CHECK((lines[3] == Derivation{"GEMM1 K", 8192, "hidden_size 7168, padded"}));
  CHECK((lines[1] ==
         Derivation{"groups", 37, "(n_routed_experts 256 + redundant 2) / ep 7, rounded down + fused shared 1"}));
}

TEST_CASE("The sizes of each different layer are derived separately, and a missing gate is named") {
  const auto lines = derived(R"({"hidden_size": 512, "num_experts": 8, "moe_intermediate_size": [256, 128],
                                 "mlp_hidden_act": "relu2"})",
                             {});
  REQUIRE(lines.size() == 7);
  CHECK((lines[1] == Derivation{"GEMM1 N", 256, "moe_intermediate_size[0] 256 / 1, no gate: mlp_hidden_act relu2"}));
  CHECK((lines[5] == Derivation{"GEMM1 N", 128, "moe_intermediate_size[1] 128 / 1, no gate: mlp_hidden_act relu2"}));
}

TEST_CASE("A derivation is written as lines with aligned equals signs, and as JSON") {
  const std::vector<Derivation> lines{{"groups", 32, "num_experts 256 / ep 8"}, {"GEMM1 K", 7168, "hidden_size"}};
  CHECK(warmup::derivation_text(lines) ==
        "groups 32    = num_experts 256 / ep 8\n"
        "GEMM1 K 7168 = hidden_size\n");
  CHECK(warmup::derivation_text({}).empty());
  CHECK(warmup::derivation_json({lines[1]}) == R"([{"quantity":"GEMM1 K","value":7168,"how":"hidden_size"}])");
  CHECK(warmup::notes_json({"a \"b\""}) == R"(["a \"b\""])");
}
