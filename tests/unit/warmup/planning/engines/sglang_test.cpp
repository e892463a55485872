// Tests of the rules for SGLang. Expected values are from SGLang 0.5.23: runtime_context.py's derive_parallel_widths,
// FusedMoE's number of local experts, _a2a_ep_size, and the models' shared_experts_fusion_disable_reason.
#include "warmup/planning/engines/sglang.hpp"
#include "catch.hpp"
#include "unit/warmup/planning/engines/planned.hpp"

namespace {

using namespace cubinet;
using namespace cubinet::warmup::engines;
using Catch::Matchers::Contains;
using warmup::Parallelism;

Expected<LaunchPlan> sglang_plan(const std::string& command, const ModelFacts& facts = deepseek_v3()) {
  return plan_of(sglang(), command, facts);
}

Parallelism sglang_ranks(const std::string& command, const ModelFacts& facts = deepseek_v3()) {
  return sglang_plan(command, facts).value().parallelism;
}

std::string sglang_refusal(const std::string& command) { return sglang_plan(command).error().message; }

}  // namespace

TEST_CASE("SGLang with tp 8 and ep 8 does not split widths and places 32 of 256 experts on each rank") {
  const LaunchPlan planned = sglang_plan("--tp 8 --ep 8").value();
  CHECK(planned.parallelism == Parallelism{8, 1, 0, 0, 0});
  CHECK(line(planned, "expert ranks").how == "ep_size 8");
  CHECK(line(planned, "width ranks").how == "tp_size 8 / ep_size 8 / moe_dp_size 1");
}

TEST_CASE("SGLang with tp alone splits widths, and fuses DeepSeek-V3's shared expert") {
  CHECK(sglang_ranks("--tp 8") == Parallelism{1, 8, 0, 1, 0});
  CHECK(sglang_ranks("--tp 8 --disable-shared-experts-fusion") == Parallelism{1, 8, 0, 0, 0});
}

TEST_CASE("SGLang splits widths over tp / ep / moe_dp ranks") {
  CHECK(sglang_ranks("--tp-size 8 --ep-size 2") == Parallelism{2, 4, 0, 0, 0});
  CHECK(sglang_ranks("--tp 8 --ep 4 --moe-dp-size 2") == Parallelism{4, 1, 0, 0, 0});
}

TEST_CASE("SGLang's dispatchers between ranks distribute experts over all tp ranks") {
  for (const char* backend : {"deepep", "deepep_v2", "mooncake", "nixl", "mori", "pplx", "flashinfer", "megamoe"}) {
    CHECK(sglang_ranks(std::string("--tp 16 --moe-a2a-backend ") + backend).expert == 16);
  }
  CHECK(sglang_ranks("--tp 16 --moe-a2a-backend none").expert == 1);
  CHECK(sglang_ranks("--tp 16 --ep 4 --enable-waterfill").expert == 16);
  CHECK(sglang_ranks("--tp 16 --enable-deepep-moe").expert == 16);
  CHECK(sglang_ranks("--tp 16 --enable-ep-moe").expert == 16);
}

TEST_CASE("SGLang's runner megamoe implies the dispatcher megamoe") {
  CHECK(sglang_ranks("--tp 8 --moe-runner-backend megamoe").expert == 8);
}

TEST_CASE("SGLang distributes redundant experts with the others, and an uneven distribution is refused") {
  CHECK(sglang_ranks("--tp 8 --ep 8 --ep-num-redundant-experts 32") == Parallelism{8, 1, 32, 0, 0});
  CHECK_THAT(sglang_refusal("--tp 8 --ep 8 --ep-num-redundant-experts 4"), Contains("256 experts and 4 redundant"));
  CHECK_THAT(sglang_refusal("--tp 8 --ep 3"), Contains("tp_size 8 is not a multiple of ep_size 3"));
}

TEST_CASE("Whether SGLang fuses shared experts depends on the model and the options") {
  CHECK(sglang_ranks("--tp 8 --moe-a2a-backend deepep").fused_shared == 0);
  CHECK(sglang_ranks("--tp 8 --moe-a2a-backend deepep --enforce-shared-experts-fusion").fused_shared == 1);
  CHECK(sglang_ranks("--tp 8 --moe-runner-backend flashinfer_trtllm").fused_shared == 0);
  CHECK(sglang_ranks("--tp 8 --enable-two-batch-overlap").fused_shared == 0);
  ModelFacts kimi = deepseek_v3();
  kimi.experts = 384;
  CHECK(sglang_ranks("--tp 8", kimi).fused_shared == 0);
  ModelFacts glm{"Glm4MoeForCausalLM", "fp8", DataType::fp8, 5120, 1536, 160, 8, 1, 0};
  CHECK(sglang_ranks("--tp 4", glm).fused_shared == 1);
  CHECK(sglang_ranks("--tp 4 --ep 4", glm).fused_shared == 0);
  ModelFacts qwen_next{"Qwen3NextForCausalLM", "", DataType::bf16, 2048, 512, 512, 10, 0, 512};
  CHECK(sglang_ranks("--tp 4 --ep 4", qwen_next).fused_shared == 1);
  CHECK(sglang_ranks("--tp 4 --moe-a2a-backend deepep", qwen_next).fused_shared == 0);
  ModelFacts qwen3{"Qwen3MoeForCausalLM", "", DataType::bf16, 4096, 1536, 128, 8, 0, 0};
  CHECK(sglang_ranks("--tp 4", qwen3).fused_shared == 0);
  ModelFacts minimax{"MiniMaxM3SparseForConditionalGeneration", "", DataType::bf16, 6144, 3072, 128, 4, 1, 0};
  CHECK(sglang_ranks("--tp 8", minimax).fused_shared == 1);
  CHECK(sglang_ranks("--tp 8 --ep 8", minimax).fused_shared == 0);
  ModelFacts dots{"Dots3NoteForCausalLM", "fp8", DataType::fp8, 4096, 1536, 256, 8, 1, 0};
  CHECK(sglang_ranks("--tp 8", dots).fused_shared == 1);
  CHECK(sglang_ranks("--tp 8 --ep 2", dots).fused_shared == 0);
  ModelFacts kimi_vl{"KimiVLForConditionalGeneration", "", DataType::bf16, 2048, 1408, 64, 6, 2, 0};
  CHECK(sglang_ranks("--tp 2", kimi_vl).fused_shared == 0);
  CHECK(sglang_ranks("--tp 2 --enforce-shared-experts-fusion", kimi_vl).fused_shared == 2);
}

TEST_CASE("The upper bound of M for SGLang follows from its prefill chunk and dispatch capacity") {
  const LaunchPlan both = sglang_plan("--tp 8 --ep 8 --chunked-prefill-size 16384").value();
  // 16384 tokens x 8 experts, and 127 rows of padding in each of 32 groups, to a multiple of 128.
  CHECK(line(both, "largest M, contiguous").value == 16384 * 8 + 4096);
  CHECK(line(both, "largest M, masked").value == 16384 * 8 / 256);
  const LaunchPlan dispatched = sglang_plan(
                                    "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK=256 python3 -m "
                                    "sglang.launch_server --tp 16 --moe-a2a-backend deepep")
                                    .value();
  CHECK(line(dispatched, "largest M, masked").value == 256 * 16 * 8 / 256);
  CHECK(line(sglang_plan("--tp 8 --chunked-prefill-size -1").value(), "largest M, contiguous").value == -1);
}

TEST_CASE("SGLang's DeepEP mode selects the layouts if DeepEP is used throughout") {
  const auto layouts = [](const std::string& options) {
    return sglang_plan("--tp 8 --moe-a2a-backend deepep " + options).value().layouts;
  };
  const std::vector<Layout> both{Layout::contiguous, Layout::masked};
  CHECK(layouts("") == both);
  CHECK(layouts("--deepep-mode auto") == both);
  CHECK(layouts("--deepep-mode normal") == std::vector<Layout>{Layout::contiguous});
  CHECK(layouts("--deepep-mode low_latency") == std::vector<Layout>{Layout::masked});
  CHECK(layouts("--deepep-mode low_latency --speculative-moe-a2a-backend none") == both);
  CHECK(sglang_plan("--tp 8 --deepep-mode low_latency").value().layouts ==
        both);  // the mode has no effect without DeepEP
}

TEST_CASE("A command whose experts SGLang runs on other kernels gets a note") {
  CHECK(notes(sglang_plan("--tp 8 --ep 8").value(), "runs the experts with Triton"));
  CHECK(notes(sglang_plan("--tp 8 --moe-runner-backend flashinfer_cutlass").value(), "with flashinfer_cutlass"));
  CHECK(sglang_plan("--tp 8 --ep 8 --moe-runner-backend deep_gemm").value().notes.empty());
  CHECK(sglang_plan("--tp 8 --moe-a2a-backend deepep").value().notes.empty());
  CHECK(sglang_plan("--tp 8 --moe-a2a-backend deepep_v2").value().notes.empty());
  CHECK(notes(sglang_plan("--tp 8 --moe-a2a-backend deepep_v2 --moe-runner-backend triton").value(), "with triton"));
}

TEST_CASE("SGLang's quantization option decides the type, and one without kernels is named in a note") {
  CHECK(!sglang_plan("--tp 8 --quantization fp8").value().type);  // the model's type
  const LaunchPlan plain = sglang_plan("--tp 8 --quantization unquant").value();
  CHECK(plain.type == DataType::bf16);
  const LaunchPlan online = sglang_plan("--tp 8 --quantization w4afp8").value();
  CHECK(online.type == DataType::bf16);
  CHECK(notes(online, "--quantization w4afp8"));
  CHECK(notes(sglang_plan("--tp 8 --dtype float16").value(), "--dtype float16"));
}

TEST_CASE("Naming the model's own quantization in any of its spellings does not change the plan") {
  const auto is_own = [](const std::string& model, const std::string& option) {
    ModelFacts facts = deepseek_v3();
    facts.quantization = model;
    const LaunchPlan planned = sglang_plan("--tp 8 --quantization " + option, facts).value();
    return !planned.type && !notes(planned, "--quantization");
  };
  CHECK(is_own("modelopt", "modelopt_fp4"));
  CHECK(is_own("awq", "awq_marlin"));
  CHECK(is_own("compressed-tensors", "compressed_tensors"));
  CHECK_FALSE(is_own("fp8", "fp8_per_block"));
  CHECK_FALSE(is_own("modelopt", "fp8"));
  CHECK_FALSE(is_own("", "fp8"));
}

TEST_CASE("Options of SGLang that affect kernels and are not supported are named, and others are not") {
  const std::string quiet = "--tp 8 --moe-a2a-backend deepep ";
  CHECK(notes(sglang_plan(quiet + "--kt-num-gpu-experts 16").value(), "--kt-num-gpu-experts is not followed"));
  CHECK(notes(sglang_plan(quiet + "--json-model-override-args '{}'").value(), "--json-model-override-args"));
  CHECK(sglang_plan(
            quiet +
            "--host 0.0.0.0 --port 30000 --trust-remote-code --mem-fraction-static 0.85 --enable-dp-attention --dp 8 "
            "--dist-init-addr 10.0.0.1:5000 --nnodes 2 --node-rank 0 --enable-metrics --tool-call-parser deepseekv3 "
            "--attention-backend fa3 --disable-radix-cache --served-model-name a --load-balance-method round_robin")
            .value()
            .notes.empty());
}
