// Tests of the rules for vLLM. Expected values are from vLLM 0.33.0: the examples of FusedMoEParallelConfig.make,
// determine_expert_map, maybe_roundup_layer_hidden_size and compute_aligned_M.
#include "warmup/planning/engines/vllm.hpp"
#include "catch.hpp"
#include "unit/warmup/planning/engines/planned.hpp"

namespace {

using namespace cubinet;
using namespace cubinet::warmup::engines;
using Catch::Matchers::Contains;
using warmup::Parallelism;

Expected<LaunchPlan> vllm_plan(const std::string& command, const ModelFacts& facts = deepseek_v3()) {
  return plan_of(vllm(), command, facts);
}

Parallelism vllm_ranks(const std::string& command, const ModelFacts& facts = deepseek_v3()) {
  return vllm_plan(command, facts).value().parallelism;
}

std::string vllm_refusal(const std::string& command) { return vllm_plan(command).error().message; }

}  // namespace

TEST_CASE("vLLM without expert parallelism splits widths over all ranks") {
  CHECK(vllm_ranks("-tp 2") == Parallelism{1, 2, 0, 0, 0});
  CHECK(vllm_ranks("-dp 2") == Parallelism{1, 2, 0, 0, 0});
  CHECK(vllm_ranks("-tp 2 -dp 2") == Parallelism{1, 4, 0, 0, 0});
  CHECK(vllm_ranks("-tp 2 -dp 2 -pcp 2") == Parallelism{1, 8, 0, 0, 0});
}

TEST_CASE("vLLM with expert parallelism distributes experts over all ranks and does not split widths") {
  CHECK(vllm_ranks("-tp 2 -ep") == Parallelism{2, 1, 0, 0, 0});
  CHECK(vllm_ranks("-dp 2 --enable-expert-parallel") == Parallelism{2, 1, 0, 0, 0});
  CHECK(vllm_ranks("--tensor_parallel_size=2 --data-parallel-size 2 --enable_expert_parallel") ==
        Parallelism{4, 1, 0, 0, 0});
  CHECK(vllm_ranks("-ep") == Parallelism{1, 1, 0, 0, 0});  // only one rank
  CHECK(vllm_ranks("-tp 2 -ep --no-enable-expert-parallel") == Parallelism{1, 2, 0, 0, 0});
}

TEST_CASE("vLLM's redundant experts come from its JSON, and need load balancing and an even distribution") {
  const Parallelism expected{8, 1, 32, 0, 0};
  CHECK(vllm_ranks(R"(-dp 8 -ep --enable-eplb --eplb-config '{"num_redundant_experts": 32, "window_size": 100}')") ==
        expected);
  CHECK(vllm_ranks("-dp 8 -ep --enable-eplb --eplb-config.num_redundant_experts 32") == expected);
  CHECK_THAT(vllm_refusal("-dp 8 -ep --eplb-config.num_redundant_experts 32"), Contains("--enable-eplb"));
  CHECK_THAT(vllm_refusal("-dp 8 -ep --enable-eplb --eplb-config.num_redundant_experts 4"),
             Contains("256 experts and 4"));
  CHECK_THAT(vllm_refusal("-dp 8 -ep --eplb-config 32"), Contains("expected a JSON object"));
  for (const char* number : {"18446744073709551615", "9223372036854775807", "-1", "1.5", "\"8\""}) {
    const std::string config = std::string("{\"num_redundant_experts\": ") + number + "}";
    CHECK_THAT(vllm_refusal("-dp 8 -ep --enable-eplb --eplb-config '" + config + "'"), Contains(number));
  }
}

TEST_CASE("vLLM pads the hidden size if its dispatcher requires it") {
  ModelFacts odd = deepseek_v3();
  odd.hidden = 2880;
  const auto padded = [&](const std::string& backend) {
    return vllm_ranks("-dp 8 -ep --all2all-backend " + backend, odd).padded_hidden;
  };
  CHECK(padded("deepep_high_throughput") == 3072);  // 5760 bytes to 6144
  CHECK(padded("deepep_v2") == 3072);
  CHECK(padded("deepep_low_latency") == 3072);
  CHECK(padded("allgather_reducescatter") == 0);
  CHECK(vllm_ranks("-tp 8 -ep --all2all-backend deepep_low_latency", odd).padded_hidden == 0);  // no data parallelism
  CHECK(vllm_ranks("-dp 8 --all2all-backend deepep_low_latency", odd).padded_hidden == 0);      // no expert parallelism
  odd.hidden = 3200;
  CHECK(padded("deepep_high_throughput") == 3328);  // 6400 bytes to 6656
  CHECK(padded("nixl_ep") == 4096);
  odd.hidden = 12288;
  CHECK_THAT(vllm_plan("-dp 8 -ep --all2all-backend deepep_low_latency", odd).error().message, Contains("up to 8192"));
  CHECK(vllm_ranks("-dp 8 -ep --all2all-backend deepep_low_latency").padded_hidden == 0);  // 7168 is one of the sizes
}

TEST_CASE("vLLM launches the masked layout with dispatchers that batch by expert, else the contiguous one") {
  const auto layouts = [](const std::string& command) { return vllm_plan(command).value().layouts; };
  CHECK(layouts("-dp 8 -ep --all2all-backend deepep_low_latency") == std::vector<Layout>{Layout::masked});
  CHECK(layouts("-dp 8 -ep --all2all-backend nixl_ep") == std::vector<Layout>{Layout::masked});
  CHECK(layouts("-dp 8 -ep --all2all-backend deepep_high_throughput") == std::vector<Layout>{Layout::contiguous});
  CHECK(layouts("-tp 8 -ep --all2all-backend deepep_low_latency") == std::vector<Layout>{Layout::contiguous});
  CHECK(layouts("-tp 8") == std::vector<Layout>{Layout::contiguous});
  CHECK(layouts("VLLM_ALL2ALL_BACKEND=deepep_low_latency vllm serve m -dp 8 -ep") ==
        std::vector<Layout>{Layout::masked});
  CHECK(layouts("-dp 8 -ep --all2all-backend pplx").size() == 2);
}

TEST_CASE("The upper bound of M for vLLM follows from its token budget") {
  // 8192 tokens of each of 8 ranks x 8 experts, and 127 rows of padding in each of 32 groups, to a multiple of 128.
  CHECK(line(vllm_plan("-dp 8 -ep").value(), "largest M, contiguous").value == 8192 * 8 * 8 + 4096);
  CHECK(line(vllm_plan("-dp 8 -ep --max-num-batched-tokens 16k").value(), "largest M, contiguous").value ==
        16000 * 64 + 4096);
  CHECK(line(vllm_plan("-tp 8 -ep --performance-mode throughput").value(), "largest M, contiguous").value ==
        16384 * 8 + 4096);
  CHECK(line(vllm_plan("-dp 8 -ep --all2all-backend deepep_low_latency").value(), "largest M, masked").value == 64);
}

TEST_CASE("Very large numbers of ranks and tokens do not overflow") {
  const LaunchPlan planned =
      vllm_plan("-tp 1000000000 -dp 1000000000 -pcp 1000000000 -ep --max-num-batched-tokens 1000m").value();
  CHECK(planned.parallelism.expert == std::int64_t{1} << 60);
  CHECK(line(planned, "largest M, contiguous").value > 0);
}

TEST_CASE("vLLM's quantization option decides the type, and one without kernels is named in a note") {
  ModelFacts plain = deepseek_v3();
  plain.quantization = "";
  plain.type = DataType::bf16;
  CHECK(vllm_plan("-tp 8 -ep --quantization fp8_per_block", plain).value().type == DataType::fp8);
  const LaunchPlan tensor = vllm_plan("-tp 8 -ep -q fp8", plain).value();
  CHECK(tensor.type == DataType::bf16);
  CHECK(notes(tensor, "--quantization fp8"));
  CHECK(!vllm_plan("-tp 8 -ep -q fp8").value().type);
  CHECK(notes(vllm_plan("-tp 8 -ep", plain).value(), "bf16 on Triton"));
}

TEST_CASE("Commands whose experts vLLM runs on other kernels get a note, and others none") {
  CHECK(notes(vllm_plan("-tp 8").value(), "(256 here) is 512 or less"));
  CHECK(notes(vllm_plan("-tp 8 -ep --moe-backend triton").value(), "--moe-backend triton"));
  CHECK(vllm_plan("-tp 8 -ep").value().notes.empty());
}

TEST_CASE("Options of vLLM that affect kernels and are not supported are named, and others are not") {
  CHECK(notes(vllm_plan("-tp 8 -ep --hf-overrides '{\"a\": 1}'").value(), "--hf-overrides is not followed"));
  CHECK(notes(vllm_plan("-tp 8 -ep -sc '{\"model\": \"x\"}'").value(), "-sc is not followed"));
  CHECK(
      vllm_plan(
          "vllm serve deepseek-ai/DeepSeek-V3 -tp 8 -ep --host 0.0.0.0 --port 8000 --max-model-len 32k "
          "--gpu-memory-utilization 0.9 --trust-remote-code --no-enable-prefix-caching --served-model-name a b "
          "--tool-call-parser deepseek_v3 --enable-auto-tool-choice -O3 --compilation-config.mode 3 --max-num-seqs 256")
          .value()
          .notes.empty());
}
