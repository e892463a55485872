// Tests of parsing a launch command, and that each engine's table has the options that its rules read.
#include "catch.hpp"
#include "warmup/planning/engines/engine.hpp"

namespace {

using namespace cubinet;
using namespace cubinet::warmup::engines;
using Catch::Matchers::Contains;

LaunchCommand command(const char* engine, const std::string& text) {
  return parse_command(*engine_of(engine), text).value();
}

}  // namespace

TEST_CASE("Engines are found by name") {
  CHECK(engine_of("sglang")->title == std::string("SGLang"));
  CHECK(engine_of("vllm")->title == std::string("vLLM"));
  CHECK(engine_of("other") == nullptr);
}

TEST_CASE("A command is parsed with or without the program before the arguments") {
  for (const char* front : {"", "python -m sglang.launch_server ", "/opt/venv/bin/python3 -u -m sglang.launch_server ",
                            "sglang serve ", "python3 -m sglang.compile_deep_gemm ", "exec /usr/bin/sglang serve ",
                            "numactl -N 0 python -m sglang.launch_server ",
                            "docker run --gpus all -e A=1 image python3 -m sglang.launch_server "}) {
    const LaunchCommand parsed = command("sglang", std::string(front) + "--model-path m --tp 8");
    CHECK(*parsed.arguments.text("tp-size") == "8");
    CHECK(parsed.model == "m");
    CHECK(parsed.notes.empty());
  }
  for (const char* front : {"vllm serve m ", "uv run vllm serve m ",
                            "docker run --gpus all -p 8000:8000 vllm/vllm-openai:latest --model m ",
                            "python3 -m vllm.entrypoints.openai.api_server --model m ", "--model m "}) {
    const LaunchCommand parsed = command("vllm", std::string(front) + "-tp 8");
    CHECK(*parsed.arguments.text("tensor-parallel-size") == "8");
    CHECK(parsed.model == "m");
  }
}

TEST_CASE("Assignments before the program are its environment") {
  const LaunchCommand parsed = command("sglang", "A=1 B='x y' env C= python -m sglang.launch_server --tp 8");
  CHECK(parsed.environment.at("A") == "1");
  CHECK(parsed.environment.at("B") == "x y");
  CHECK(parsed.environment.at("C").empty());
  CHECK(command("sglang", "A=1 --tp 8").environment.at("A") == "1");
  CHECK(variable(parsed, "A", 5).value() == 1);
  CHECK(variable(parsed, "D", 5).value() == 5);
  CHECK(variable(parsed, "B", 5).error().message == "B is 'x y', expected a whole number from 1 on");
}

TEST_CASE("The folder of the configuration takes precedence over the folder of the weights") {
  CHECK(command("vllm", "vllm serve m.gguf --hf-config-path /models/x").model == "/models/x");
}

TEST_CASE("The command that starts the server is found in a script of several commands") {
  for (const char* front :
       {"cd /work && ", "export A=1; ulimit -n 65536; ", "set -e\nsource venv/bin/activate\n", "sleep 5 || true; ",
        "docker run -d --gpus all image bash -c 'cd /work && ", "srun -N 2 bash -lc \"exec "}) {
    INFO(front);
    const std::string text = front;
    const std::string close = text.find('\'') != std::string::npos  ? "'"
                              : text.find('"') != std::string::npos ? "\""
                                                                    : "";
    const LaunchCommand parsed = command(
        "sglang", text + "python3 -m sglang.launch_server --model-path m --tp 8 > log 2>&1" + close + " | tee log");
    CHECK(*parsed.arguments.text("tp-size") == "8");
    CHECK(parsed.model == "m");
    CHECK(parsed.notes.empty());
  }
  const LaunchCommand parsed = command("sglang", "export A=1; bash -c 'B=2 sglang serve --tp 8'");
  CHECK(parsed.environment.at("A") == "1");
  CHECK(parsed.environment.at("B") == "2");
}

TEST_CASE("Without a known program the options are taken from the first command that has any") {
  CHECK(*command("sglang", "cd /work && ./serve.sh --tp 8 --ep 8 | tee log").arguments.text("tp-size") == "8");
  CHECK(*command("sglang", "export A=1; set -e; A=2 --tp=4").arguments.text("tp-size") == "4");
  CHECK(command("sglang", "export A=1; --tp 4").environment.at("A") == "1");
}

TEST_CASE("A command without any option of the engine gets a note") {
  CHECK(command("sglang", "cd /work && ./serve.sh").notes ==
        std::vector<std::string>{"no option of SGLang is in it; planning for one GPU"});
  CHECK(command("vllm", "/models/x").model == "/models/x");
  CHECK(command("vllm", "vllm serve /models/x").notes.empty());
}

TEST_CASE("A script that starts several servers is planned for the first one, with a note") {
  const LaunchCommand parsed =
      command("sglang", "sglang serve --tp 4 --disaggregation-mode prefill & sglang serve --tp 8 & wait");
  CHECK(*parsed.arguments.text("tp-size") == "4");
  CHECK(parsed.notes == std::vector<std::string>{"2 servers are started; planning for the first"});
}

TEST_CASE("A command of another engine is refused, and the error names that engine") {
  const auto refused = parse_command(*engine_of("sglang"), "vllm serve m -tp 8");
  REQUIRE(!refused);
  CHECK(refused.error().message == "the command starts vLLM, not SGLang");
}

TEST_CASE("A command that reads options from a file is refused") {
  const auto refused = parse_command(*engine_of("vllm"), "vllm serve m --config serve.yaml");
  REQUIRE(!refused);
  CHECK_THAT(refused.error().message, Contains("serve.yaml"));
}

TEST_CASE("SGLang's model may be a positional argument") {
  const LaunchCommand parsed = command("sglang", "sglang serve /models/x --tp 8");
  CHECK(parsed.model == "/models/x");
  CHECK(parsed.notes.empty());
}

TEST_CASE("Words that belong to no option are named in notes, and typographic dashes are refused") {
  CHECK(command("sglang", "sglang serve m --tp 8 ep 8").notes ==
        std::vector<std::string>{"'ep' belongs to no option and was ignored",
                                 "'8' belongs to no option and was ignored"});
  CHECK(command("sglang", "./serve.sh --tp 8").notes.empty());
  CHECK(command("vllm", "vllm serve -tp 8 m").notes.empty());
  for (const char* word : {"\u2013tp", "\u2014tp", "\u2212-tp"}) {
    const auto refused = parse_command(*engine_of("sglang"), "sglang serve m " + std::string(word) + " 8");
    REQUIRE(!refused);
    CHECK(refused.error().message == std::string(word) + " begins with a dash that is not a hyphen");
  }
}

TEST_CASE("Unknown options are named in notes") {
  CHECK(command("sglang", "--tp 8 --not-yet-known 3").notes ==
        std::vector<std::string>{"--not-yet-known is unknown and was ignored"});
}

TEST_CASE("Each engine's table contains all options that affect its plan") {
  for (const char* name : {"tp-size",
                           "ep-size",
                           "dp-size",
                           "attn-dp-size",
                           "moe-dp-size",
                           "moe-a2a-backend",
                           "moe-runner-backend",
                           "deepep-mode",
                           "ep-num-redundant-experts",
                           "chunked-prefill-size",
                           "quantization",
                           "dtype",
                           "model-path",
                           "disable-shared-experts-fusion",
                           "enforce-shared-experts-fusion",
                           "enable-waterfill",
                           "enable-two-batch-overlap",
                           "speculative-algorithm",
                           "speculative-num-draft-tokens",
                           "cuda-graph-max-bs-decode",
                           "cuda-graph-max-bs",
                           "json-model-override-args",
                           "kt-num-gpu-experts",
                           "config"}) {
    INFO(name);
    CHECK(engine_of("sglang")->flags().has(name));
  }
  for (const Engine* engine : engines()) {
    for (const auto& [option, why] : engine->unfollowed) {
      INFO(option);
      CHECK(engine->flags().has(option));
    }
  }
  for (const char* name :
       {"tensor-parallel-size", "data-parallel-size", "prefill-context-parallel-size", "enable-expert-parallel",
        "all2all-backend", "enable-eplb", "eplb-config", "quantization", "max-num-batched-tokens", "performance-mode",
        "moe-backend", "dtype", "model", "hf-config-path", "hf-overrides", "speculative-config", "config"}) {
    INFO(name);
    CHECK(engine_of("vllm")->flags().has(name));
  }
}
