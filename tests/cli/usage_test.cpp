// Tests of wrong input: an error of one line that names it, the right exit code, and no written file.
#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"

namespace {

using namespace cubinet::cli;

struct BadInput {
  Arguments arguments;
  std::string named;  // must occur in the message
};

void check_refused(const Sandbox& sandbox, const BadInput& input, int exit_code = 2) {
  for (const char* command : {"plan", "warmup"}) {
    for (const bool json : {false, true}) {
      Arguments arguments{command};
      arguments.insert(arguments.end(), input.arguments.begin(), input.arguments.end());
      if (json) arguments.push_back("--json");
      const auto before = contents(sandbox.folder());
      const Outcome outcome = sandbox.run(arguments);
      INFO(command << " about '" << input.named << "': " << outcome.err);
      CHECK(outcome.exit_code == exit_code);
      CHECK(outcome.err.find("cubinet: error: ") == 0);
      CHECK(outcome.err.find(input.named) != std::string::npos);
      CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
      CHECK(contents(sandbox.folder()) == before);
      if (json) {
        const auto error = object_of(outcome).at("error");
        CHECK(error.at("message").get<std::string>().find(input.named) != std::string::npos);
        CHECK_FALSE(error.at("code").get<std::string>().empty());
      } else {
        CHECK(outcome.out.empty());
      }
    }
  }
}

}  // namespace

TEST_CASE("A wrong value is refused by the name of its flag, and nothing is written") {
  const Sandbox sandbox;
  const std::string shape = "4096,7168,32";
  const std::vector<BadInput> inputs{
      {{"--shape", shape, "--m-min", "-1"}, "--m-min: '-1'"},
      {{"--shape", shape, "--m-max", "-1"}, "--m-max: '-1'"},
      {{"--shape", shape, "--m-max=-1"}, "--m-max: '-1'"},
      {{"--shape", shape, "--m-max", "0"}, "--m-max: '0'"},
      {{"--shape", shape, "--m-max", "99999999999999999999"}, "--m-max: '99999999999999999999'"},
      {{"--shape", shape, "--m-max", "9223372036854775807"}, "--m-max: '9223372036854775807'"},
      {{"--shape", shape, "--m-max", "12x"}, "--m-max: '12x'"},
      {{"--shape", shape, "--m-max", "0x10"}, "--m-max: '0x10'"},
      {{"--shape", shape, "--m-min", "200", "--m-max", "100"}, "--m-min 200 is above --m-max 100"},
      {{"--shape", shape, "--num-sms", "132"}, "--num-sms"},
      {{"--shape", shape, "--arch", "sm_90"}, "sm_90a"},
      {{"--shape", shape, "--arch", "banana"}, "banana"},
      {{"--shape", shape, "--dtype", "int4"}, "--dtype: 'int4' is neither bf16 nor fp8"},
      {{"--shape", shape, "--dtype", "FP8"}, "'FP8'"},
      {{"--shape", shape, "--dtype", "bf16,"}, "--dtype: ''"},
      {{"--shape", shape, "--dtype", "bf16, fp8"}, "' fp8'"},
      {{"--shape", shape, "--dtype", ""}, "--dtype: no type is named"},
      {{"--shape", shape, "--layout", "ragged"}, "ragged"},
      {{"--shape", shape, "--ep", "8"}, "--ep"},
      {{"--generic-only", "--ep", "8"}, "--ep"},
      {{"--generic-only", "--tp", "2"}, "--tp"},
      {{"--shape", shape, "--redundant-experts", "8"}, "--redundant-experts"},
      {{"--shape", shape, "--unknown"}, "--unknown"},
      {{}, "--model FILE, --shape N,K,GROUPS, --recorded or --generic-only"},
  };
  for (const BadInput& input : inputs) check_refused(sandbox, input);
}

TEST_CASE("A count of 0, below 0 or above its maximum is refused with the allowed range") {
  const Sandbox sandbox;
  const std::string mixtral = example_model("mixtral-8x7b");
  for (const char* flag : {"--ep", "--tp", "--m-min", "--m-max"}) {
    for (const char* count : {"0", "-1", "1e3", "", "4294967297", "99999999999999999999"}) {
      check_refused(sandbox, {{"--model", mixtral, flag, count},
                              std::string(flag) + ": '" + count + "' is not a whole number from 1 to "});
    }
  }
}

TEST_CASE("A malformed shape, or one that no kernel takes, is refused") {
  const Sandbox sandbox;
  for (const char* shape : {"4096, 7168, 32", "4096 7168 32", "garbage", "4096,7168", "4096,7168,32,1", "", ",,",
                            "-4096,7168,32", "0,7168,32", "4096,7168,99999999999999999999", "4096,7168,32 "}) {
    check_refused(sandbox, {{"--shape", shape}, std::string("'") + shape + "'"});
  }
  check_refused(sandbox, {{"--shape", "4096,100,8"}, "K=100"});
  check_refused(sandbox, {{"--shape", "4097,128,8"}, "N=4097"});
  for (const char* shape : {"2147483648,2048,8", "2048,2147483648,8", "99999999999999999999,2048,8"}) {
    check_refused(sandbox, {{"--shape", shape}, "N, K and GROUPS * N must stay below 2^31"});
  }
  for (const char* shape : {"1024,2048,65537", "1024,2048,2147483648", "1024,2048,99999999999999999999"}) {
    check_refused(sandbox, {{"--shape", shape}, "groups must be from 1 to 65536"});
  }
}

TEST_CASE("A K that FP8 kernels do not take is refused with what it can be padded to") {
  const Sandbox sandbox;
  for (const char* types : {"fp8", "bf16,fp8"}) {
    check_refused(sandbox, {{"--shape", "4096,192,8", "--dtype", types},
                            "--shape: '4096,192,8': K must be a multiple of 128 for FP8: K=192; pad K to 256"});
  }
  for (const char* types : {"fp8,bf16", "bf16,fp8"}) {
    check_refused(sandbox, {{"--shape", "4096,100,8", "--dtype", types}, "for FP8: K=100; pad K to 128"});
    check_refused(sandbox, {{"--model", example_model("deepseek-v3"), "--tp", "64", "--dtype", types},
                            "pad the expert width to 128 per rank"});
  }
  check_refused(sandbox, {{"--shape", "4096,100,8"}, "K must be a multiple of 64 for BF16: K=100; pad K to 128"});
  const std::string minimax = example_model("minimax-m2");
  const std::string by_itself = minimax +
                                ": expert width 1536 over --tp 8 gives K = 192: K must be a multiple of 128 for FP8: "
                                "K=192; pad the expert width to 256 per rank";
  check_refused(sandbox, {{"--model", minimax, "--tp", "8"}, by_itself});
  for (const char* types : {"fp8", "bf16,fp8"}) {
    check_refused(sandbox, {{"--model", example_model("qwen3-235b-a22b"), "--tp", "8", "--dtype", types},
                            "pad the expert width to 256 per rank"});
    check_refused(sandbox, {{"--model", example_model("gpt-oss-120b"), "--dtype", types},
                            "hidden_size 2880: K must be a multiple of 128 for FP8: K=2880; pad it to 2944"});
  }
  CHECK(sandbox.run({"plan", "--model", minimax, "--tp", "8", "--dtype", "bf16"}).exit_code == 0);
}

TEST_CASE("FP8 weights in blocks that the kernels do not take are planned in BF16, with a note of what is stored") {
  const Sandbox sandbox;
  const auto plan = [&](const std::string& block) {
    return sandbox.run(
        {"plan", "--json", "--model",
         sandbox.file("model.json",
                      R"({"text_config": {"num_experts": 8, "hidden_size": 256, "moe_intermediate_size": 128,
                                         "quantization_config": {"quant_method": "fp8")" +
                          block + "}}}")});
  };
  const std::string way_out = "which no kernel supports; planning bf16 kernels of their shapes";
  for (const char* block : {"[64,64]", "[128]", "\"128\"", "128"}) {
    const Outcome outcome = plan(std::string(R"(, "weight_block_size": )") + block);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.find(std::string("stored as FP8 in blocks of ") + block) != std::string::npos);
    CHECK(outcome.err.find(way_out) != std::string::npos);
    CHECK(outcome.out.find("fp8_grouped") == std::string::npos);
  }
  CHECK(plan("").err.find("stored as FP8 with a scale per tensor") != std::string::npos);
}

TEST_CASE("A model whose quantization_config is not an object is refused for any type") {
  const Sandbox sandbox;
  const std::string file =
      sandbox.file("model.json", R"({"num_experts": 8, "hidden_size": 256, "moe_intermediate_size": 128,
                                     "quantization_config": "fp8"})");
  for (const Arguments& more : {Arguments{}, Arguments{"--dtype", "bf16"}}) {
    BadInput input{{"--model", file}, file + ": quantization_config is \"fp8\", expected an object"};
    input.arguments.insert(input.arguments.end(), more.begin(), more.end());
    check_refused(sandbox, input);
  }
}

TEST_CASE("A model that cannot be used is refused by name") {
  const Sandbox sandbox;
  const std::string broken = sandbox.file("broken.json", "{\n  \"num_experts\": 8,,\n}\n");
  const std::string mixtral = example_model("mixtral-8x7b");
  check_refused(sandbox, {{"--model", broken}, broken + ":2:20: not JSON"});
  check_refused(sandbox, {{"--model", sandbox.folder().string()}, sandbox.path("config.json")});
  check_refused(sandbox, {{"--model", sandbox.path("absent.json")}, "absent.json"});
  check_refused(sandbox, {{"--model", example_model("qwen3-8b-dense")}, "has no experts"});
  check_refused(sandbox, {{"--model", mixtral, "--ep", "9"}, "8, is below --ep 9"});
  check_refused(sandbox,
                {{"--model", mixtral, "--tp", "3"}, "14336, cannot be split evenly over --tp 3"});
  check_refused(sandbox, {{"--model", mixtral, "--tp", "256"}, "K=56"});
  check_refused(sandbox, {{"--model", mixtral, "--tp", "512"}, mixtral + ": expert width 14336 over --tp 512"});
  const std::string odd =
      sandbox.file("odd.json", R"({"hidden_size": 100, "moe_intermediate_size": 768, "num_experts": 8})");
  check_refused(sandbox, {{"--model", odd}, odd + ": hidden_size 100: "});
  const std::string many =
      sandbox.file("many.json", R"({"hidden_size": 128, "moe_intermediate_size": 768, "num_experts": 131074})");
  check_refused(sandbox, {{"--model", many, "--ep", "2"}, many + ": 131074 experts over --ep 2: groups must be"});
  check_refused(sandbox, {{"--model", mixtral, "--redundant-experts", "-1"}, "--redundant-experts: '-1'"});
  check_refused(sandbox, {{"--model", ""}, "--model: the name of the file is empty"});
  check_refused(sandbox, {{"--model", mixtral, "--model", mixtral}, "--model"});
  check_refused(sandbox, {{"--model", mixtral, "--shape", "4096,7168,32"}, "--shape"});
  check_refused(sandbox, {{"--model", sandbox.file("new\nline.json", "[]")}, "new line.json"});
}

TEST_CASE("A very long path or value is shortened in the error that names it") {
  const Sandbox sandbox;
  const std::string longest(5000, 'a');
  check_refused(sandbox, {{"--model", longest}, "aaa...("});
  for (const Arguments& arguments :
       {Arguments{"plan", "--model", longest, "--json"}, Arguments{"plan", "--shape", "1,1," + longest, "--json"},
        Arguments{"warmup", "--shape", "128,128,1", "--jobs", longest, "--json"},
        Arguments{"doctor", "--" + longest, "--json"}}) {
    const Outcome outcome = sandbox.run(arguments);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.err.size() < 500);
    CHECK(object_of(outcome).at("error").at("message").get<std::string>().size() < 500);
  }
}

TEST_CASE("A model that may not be read is refused") {
  Sandbox sandbox;
  sandbox.unprivileged = true;
  const std::string secret = sandbox.file("secret.json", "{}");
  std::filesystem::permissions(secret, std::filesystem::perms::none);
  check_refused(sandbox, {{"--model", secret}, secret});
}

TEST_CASE("A wrong number of jobs or an empty cache folder is refused") {
  const Sandbox sandbox;
  for (const char* jobs : {"0", "-2", "many", "1.5", "999999", "", "99999999999999999999"}) {
    const Outcome outcome = sandbox.run({"warmup", "--shape", "128,128,1", "--jobs", jobs});
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.err.find(std::string("--jobs: '") + jobs + "'") != std::string::npos);
  }
  const Outcome outcome = sandbox.run({"warmup", "--shape", "128,128,1", "--cache", ""});
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.err.find("--cache") != std::string::npos);
  CHECK(contents(sandbox.folder()).empty());
}

TEST_CASE("An unknown command is refused by name, and so is no command") {
  const Sandbox sandbox;
  const Outcome unknown = sandbox.run({"bake"});
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.err.find("'bake'") != std::string::npos);
  CHECK(sandbox.run({}).exit_code == 2);
  CHECK(sandbox.run({"cache"}).exit_code == 2);
  CHECK(sandbox.run({"plan", "--shape", "128,128,1", "--execute"}).exit_code == 2);
}

TEST_CASE("Every command has help with an example and the exit codes") {
  const Sandbox sandbox;
  const std::vector<Arguments> commands{{},
                                        {"plan"},
                                        {"warmup"},
                                        {"doctor"},
                                        {"cache"},
                                        {"cache", "ls"},
                                        {"cache", "show"},
                                        {"cache", "stats"},
                                        {"cache", "verify"},
                                        {"cache", "rm"},
                                        {"cache", "export"},
                                        {"cache", "import"}};
  for (Arguments command : commands) {
    command.push_back("--help");
    const Outcome outcome = sandbox.run(command);
    INFO(outcome.out);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.out.find("Example:\n  cubinet ") != std::string::npos);
    CHECK(outcome.out.find("Exit codes: 0 done") != std::string::npos);
    CHECK(outcome.out.find("a cache that cannot be used is 1") != std::string::npos);
  }
  CHECK(sandbox.run({"--version"}).out.find("cubinet ") == 0);
}

TEST_CASE("A wrong value is refused before the cabinet is opened") {
  const Sandbox sandbox;
  const std::string file = sandbox.path("file");
  for (const Arguments& arguments : std::vector<Arguments>{{"gc", "--max-size", "zz"},
                                                           {"show", "xyz"},
                                                           {"rm", "xyz"},
                                                           {"pin", "xyz"},
                                                           {"unpin", "abc"},
                                                           {"explain", "xyz"},
                                                           {"export", file, "xyz"},
                                                           {"export", file, "--plan", "--shape", "1,1"},
                                                           {"export", file, "--sign", sandbox.path("absent.pem")},
                                                           {"export", sandbox.path("nowhere/file")},
                                                           {"report", sandbox.path("nowhere/file")}}) {
    const Outcome outcome = sandbox.run(with(with({"cache"}, arguments), {"--cache", sandbox.path("nowhere")}));
    INFO(arguments.front() << outcome.err);
    CHECK(outcome.exit_code == 2);
  }
  CHECK(contents(sandbox.folder()).empty());
}

TEST_CASE("An empty value belongs to its option, and the next word remains a word") {
  const Sandbox sandbox;
  for (const Arguments& arguments :
       std::vector<Arguments>{{"cache", "ls", "--family=", "--cache", "g"},
                              {"cache", "gc", "--max-size=zz", "--max-age=", "--cache", "g"},
                              {"warmup", "--shape=", "--cache", "g"}}) {
    const Outcome outcome = sandbox.run(arguments);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.err.find("not expected") == std::string::npos);
  }
  CHECK(sandbox.run({"cache", "ls", "--family=", "--cache", "g"}).err.find("--family: the name is empty") !=
        std::string::npos);
}
