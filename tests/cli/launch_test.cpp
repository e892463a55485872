// Tests of plans from a server's launch command.
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"

using namespace cubinet::cli;
using Catch::Matchers::Contains;

namespace {

// N, K and groups.
using Shapes = std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>>;

// The shapes of a plan, without its generic kernels.
Shapes shapes_of(const Outcome& outcome) {
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  Shapes shapes;
  const auto plan = object_of(outcome);
  for (const auto& kernel : plan.at("kernels")) {
    if (kernel.at("n") == 0) continue;
    for (const auto& use : kernel.at("uses")) shapes.emplace(kernel.at("n"), kernel.at("k"), use.at("groups"));
  }
  return shapes;
}

std::set<std::string> gemm_families_of(const Outcome& outcome) {
  std::set<std::string> families;
  const auto plan = object_of(outcome);
  for (const auto& kernel : plan.at("kernels")) {
    if (kernel.at("n") != 0) families.insert(kernel.at("family").get<std::string>());
  }
  return families;
}

Outcome plan_of(const Sandbox& sandbox, const Arguments& launch, const std::string& model = "deepseek-v3") {
  return sandbox.run(with({"plan", "--model", example_model(model), "--json"}, launch));
}

Shapes planned(const Arguments& launch, const std::string& model = "deepseek-v3") {
  const Sandbox sandbox;
  return shapes_of(plan_of(sandbox, launch, model));
}

std::string refusal(const Arguments& arguments) {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(with({"plan"}, arguments));
  CHECK(outcome.exit_code == 2);
  return outcome.err;
}

const Shapes whole_experts{{4096, 7168, 32}, {7168, 2048, 32}};

}  // namespace

TEST_CASE("SGLang's tp 8 and ep 8 plan DeepSeek-V3 with 32 whole experts per rank") {
  CHECK(planned({"--sglang", "--tp 8 --ep 8"}) == whole_experts);
  CHECK(planned({"--sglang=--tp-size=8 --expert-parallel-size=8"}) == whole_experts);
  CHECK(planned({"--sglang",
                 "--tp 16 --dp 16 --enable-dp-attention --moe-a2a-backend deepep --ep-num-redundant-experts 32"}) ==
        Shapes{{4096, 7168, 18}, {7168, 2048, 18}});
}

TEST_CASE("SGLang's tp 8 alone plans an eighth of each width, and the fused shared expert") {
  CHECK(planned({"--sglang", "--tp 8"}) == Shapes{{512, 7168, 257}, {7168, 256, 257}});
}

TEST_CASE("A launch command is accepted as it is in a script") {
  CHECK(planned({"--sglang",
                 "NCCL_DEBUG=INFO SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK=256 \\\n"
                 "  python3 -m sglang.launch_server \\\n"
                 "    --model-path deepseek-ai/DeepSeek-V3 --trust-remote-code \\\n"
                 "    --tp 8 --ep 8 \\\n"
                 "    --served-model-name \"my model\" --host 0.0.0.0 --port 30000 > server.log 2>&1 &"}) ==
        whole_experts);
  CHECK(planned({"--vllm", "vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --enable-expert-parallel --max-model-len 32k"}) ==
        whole_experts);
}

TEST_CASE("vLLM's expert parallelism spans tensor and data parallelism, and without it widths are split") {
  CHECK(planned({"--vllm", "-tp 2 -dp 4 -ep"}) == whole_experts);
  CHECK(planned({"--vllm", "--tensor_parallel_size 2 --data_parallel_size 4"}) ==
        Shapes{{512, 7168, 256}, {7168, 256, 256}});
  // 256 experts over 6 ranks: the first four have 43, the others 42.
  CHECK(planned({"--vllm", "-dp 6 -ep"}) ==
        Shapes{{4096, 7168, 43}, {7168, 2048, 43}, {4096, 7168, 42}, {7168, 2048, 42}});
}

TEST_CASE("vLLM pads the hidden size for a dispatcher that takes fixed sizes, and launches the masked layout") {
  const Sandbox sandbox;
  const std::string file = sandbox.file("config.json", R"({"num_experts": 64, "hidden_size": 2688,
      "moe_intermediate_size": 1024, "num_experts_per_tok": 8, "model_type": "qwen3_moe",
      "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})");
  const Outcome outcome =
      sandbox.run({"plan", "--model", file, "--json", "--vllm", "-dp 8 -ep --all2all-backend deepep_low_latency"});
  CHECK(shapes_of(outcome) == Shapes{{2048, 3072, 8}, {3072, 1024, 8}});
  CHECK(gemm_families_of(outcome) == std::set<std::string>{"fp8_grouped_masked"});
  CHECK(gemm_families_of(sandbox.run({"plan", "--model", file, "--json", "--layout", "contiguous", "--vllm",
                                      "-dp 8 -ep --all2all-backend deepep_low_latency"})) ==
        std::set<std::string>{"fp8_grouped_contiguous"});
}

TEST_CASE("The model of the launch command is used if it is a local folder") {
  const Sandbox sandbox;
  const std::string folder = std::filesystem::path(example_model("deepseek-v3")).parent_path().string();
  CHECK(shapes_of(sandbox.run({"plan", "--json", "--sglang", "--model-path '" + folder + "' --tp 8 --ep 8"})) ==
        whole_experts);
  CHECK(shapes_of(sandbox.run({"plan", "--json", "--vllm", "vllm serve " + folder + " -tp 8 -ep"})) == whole_experts);
  CHECK_THAT(refusal({"--vllm", "vllm serve deepseek-ai/DeepSeek-V3 -tp 8 -ep"}),
             Contains("--vllm: there is no folder 'deepseek-ai/DeepSeek-V3' with a config.json here; give the model's "
                      "config.json with --model"));
  CHECK_THAT(refusal({"--sglang", "--tp 8"}), Contains("--sglang: the command names no model"));
}

TEST_CASE("Options that are unknown, or matter and are not supported, are named in notes") {
  const Sandbox sandbox;
  const Outcome outcome = plan_of(sandbox, {"--sglang",
                                            "--tp 8 --ep 8 --moe-runner-backend deep_gemm --brand-new 3 "
                                            "--kt-num-gpu-experts 8 --mem-fraction-static 0.9"});
  CHECK_THAT(outcome.err, Contains("--sglang: --brand-new is unknown and was ignored"));
  CHECK_THAT(outcome.err, Contains("--sglang: --kt-num-gpu-experts is not followed"));
  CHECK_THAT(outcome.err, !Contains("mem-fraction-static"));
  CHECK(plan_of(sandbox, {"--sglang", "--tp 8 --moe-a2a-backend deepep"}).err.empty());
}

TEST_CASE("A wrong launch command is refused by name") {
  const Arguments model{"--model", example_model("deepseek-v3")};
  CHECK_THAT(refusal(with(model, {"--sglang", "--tp 8 --ep 3"})),
             Contains("--sglang: tp_size 8 is not a multiple of ep_size 3"));
  CHECK_THAT(refusal(with(model, {"--sglang", "--tp eight"})), Contains("--sglang: --tp is 'eight'"));
  CHECK_THAT(refusal(with(model, {"--sglang", "--tp $TP"})), Contains("variables are not expanded"));
  CHECK_THAT(refusal(with(model, {"--sglang", "vllm serve m -tp 8"})), Contains("the command starts vLLM, not SGLang"));
  CHECK_THAT(refusal(with(model, {"--sglang", "--tp 'x"})), Contains("--sglang: the quote before 'x' is not closed"));
  CHECK_THAT(refusal(with(model, {"--vllm", "serve --config serve.yaml"})), Contains("serve.yaml"));
  CHECK_THAT(refusal(with(model, {"--sglang", ""})), Contains("--sglang: no command is given"));
}

TEST_CASE("A launch command excludes ranks, another engine's command, shapes and --generic-only") {
  const Arguments model{"--model", example_model("deepseek-v3")};
  CHECK_THAT(refusal(with(model, {"--sglang", "--tp 8", "--ep", "8"})), Contains("leave out --ep, --tp"));
  CHECK_THAT(refusal(with(model, {"--sglang", "--tp 8", "--redundant-experts", "8"})),
             Contains("leave out --ep, --tp"));
  CHECK_THAT(refusal(with(model, {"--sglang", "--tp 8", "--vllm", "-tp 8"})), Contains("give one launch command"));
  CHECK_THAT(refusal({"--shape", "4096,7168,8", "--sglang", "--tp 8"}), Contains("--sglang is for a --model"));
  CHECK_THAT(refusal({"--generic-only", "--sglang", "--tp 8"}), Contains("--sglang is for a --model"));
}

TEST_CASE("explain takes a launch command as plan does") {
  const Sandbox sandbox;
  fill(sandbox);
  const Outcome outcome =
      sandbox.run({"cache", "explain", "--model", example_model("deepseek-v3"), "--sglang",
                   "--tp 8 --moe-a2a-backend deepep --deepep-mode low_latency", "--m", "64", "--json"});
  CHECK_THAT(outcome.out, Contains("fp8_grouped_masked") && Contains("4096") && !Contains("contiguous"));
}
