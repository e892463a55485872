#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"
#include "unit/warmup/planning/reported_models.hpp"

using namespace cubinet::cli;

namespace {

const std::set<std::string> bf16_families{"bf16_grouped_contiguous", "bf16_grouped_masked"};
const std::set<std::string> fp8_families{"fp8_grouped_contiguous", "fp8_grouped_masked", "fp8_quantization"};

std::set<std::string> families_of(const Outcome& outcome) {
  std::set<std::string> families;
  const auto plan = object_of(outcome);
  for (const auto& kernel : plan.at("kernels")) families.insert(kernel.at("family").get<std::string>());
  return families;
}

// A small model with this quantization_config.
std::string model_with(const std::string& quantization_config) {
  return R"({"num_experts": 8, "hidden_size": 256, "moe_intermediate_size": 128, "quantization_config": )" +
         quantization_config + "}";
}

}  // namespace

TEST_CASE("plan names each kernel once, with the fields that others read, and writes nothing") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run({"plan", "--model", example_model("qwen3-30b-a3b"), "--ep", "8", "--json"});
  REQUIRE(outcome.exit_code == 0);
  const auto plan = object_of(outcome);
  const auto& kernels = plan.at("kernels");
  REQUIRE(kernels.size() >= 4);
  CHECK(plan.at("unique_kernels") == kernels.size());
  std::set<std::string> keys;
  for (const auto& kernel : kernels) {
    CHECK(keys.insert(kernel.at("key").get<std::string>()).second);
    CHECK(kernel.at("key").get<std::string>().size() == 64);
    CHECK(kernel.at("family").get<std::string>().find("bf16_grouped_") == 0);
    const std::pair<int, int> shape{kernel.at("n").get<int>(), kernel.at("k").get<int>()};
    CHECK((shape == std::pair(1536, 2048) || shape == std::pair(2048, 768) || shape == std::pair(0, 0)));
    CHECK(kernel.at("groups") == 16);
    CHECK(kernel.at("config").is_object());
    for (const auto& range : kernel.at("m_ranges")) {
      REQUIRE(range.size() == 2);
      CHECK(range[0] >= 1);
      CHECK(range[0] <= range[1]);
      CHECK(range[1] <= 16777216);
    }
    CHECK(kernel.at("uses").at(0).at("m_ranges") == kernel.at("m_ranges"));
  }
  CHECK(contents(sandbox.folder()).empty());
}

TEST_CASE("A plan has one generic kernel per type and layout, none with --no-generic, or only these") {
  const Sandbox sandbox;
  const auto generic_families = [&](const Arguments& more) {
    Arguments arguments{"plan", "--json", "--dtype", "bf16,fp8", "--m-max", "64"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::vector<std::string> families;
    const auto plan = object_of(sandbox.run(arguments));
    for (const auto& kernel : plan.at("kernels")) {
      if (kernel.at("n") == 0) families.push_back(kernel.at("family"));
    }
    return families;
  };
  const std::vector<std::string> all{"bf16_grouped_contiguous", "bf16_grouped_masked", "fp8_grouped_contiguous",
                                     "fp8_grouped_masked", "fp8_quantization"};
  CHECK(generic_families({"--shape", "576,7168,32", "--shape", "1024,2048,16"}) == all);
  CHECK(generic_families({"--generic-only"}) == all);
  CHECK(generic_families({"--shape", "576,7168,32", "--no-generic"}) == std::vector<std::string>{"fp8_quantization"});
  const Outcome alone = sandbox.run({"plan", "--generic-only", "--layout", "masked"});
  CHECK(alone.out.find("bf16_grouped_masked  -  -       -  t256") != std::string::npos);
  CHECK(alone.out.find("N=128") == std::string::npos);
  CHECK(sandbox.run({"plan", "--generic-only", "--shape", "576,7168,32"}).exit_code == 2);
  CHECK(sandbox.run({"plan", "--generic-only", "--no-generic"}).exit_code == 2);
}

TEST_CASE("One kernel that serves two numbers of groups is listed once, with both uses") {
  const Sandbox sandbox;
  const auto plan = object_of(sandbox.run({"plan", "--shape", "4096,7168,32", "4096,7168,16", "--layout", "masked",
                                           "--m-max", "1", "--no-generic", "--json"}));
  CHECK(plan.at("unique_kernels") == 1);
  const auto& uses = plan.at("kernels").at(0).at("uses");
  REQUIRE(uses.size() == 2);
  CHECK(uses[0].at("groups") == 32);
  CHECK(uses[1].at("groups") == 16);
  CHECK(plan.at("kernels").at(0).at("groups") == 32);
}

TEST_CASE("A repeated shape and a repeated layout change nothing") {
  const Sandbox sandbox;
  const Outcome once = sandbox.run({"plan", "--shape", "4096,7168,32", "--layout", "masked", "--json"});
  const Outcome twice = sandbox.run(
      {"plan", "--shape", "4096,7168,32", "--shape", "4096,7168,32", "--layout", "masked,masked", "--json"});
  CHECK(once.exit_code == 0);
  CHECK(once.out == twice.out);
}

TEST_CASE("The table of plan has the same keys as its JSON") {
  const Sandbox sandbox;
  const Arguments arguments{"plan", "--shape", "4096,7168,32", "--m-max", "64"};
  const Outcome text = sandbox.run(arguments);
  CHECK(text.exit_code == 0);
  CHECK(text.out.find("KEY") == 0);
  Arguments with_json = arguments;
  with_json.push_back("--json");
  const auto plan = object_of(sandbox.run(with_json));
  for (const auto& kernel : plan.at("kernels")) {
    CHECK(text.out.find(kernel.at("key").get<std::string>().substr(0, 12)) != std::string::npos);
  }
}

TEST_CASE("Without --dtype a model with FP8 weights in blocks of 128 x 128 is planned in FP8") {
  const Sandbox sandbox;
  for (const char* model : {"deepseek-v3", "kimi-k2", "minimax-m2"}) {
    INFO(model);
    const Outcome outcome = sandbox.run({"plan", "--model", example_model(model), "--ep", "8", "--json"});
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
    CHECK(families_of(outcome) == fp8_families);
  }
  const Outcome same = sandbox.run({"plan", "--model", example_model("deepseek-v3"), "--ep", "8", "--json"});
  const Outcome asked =
      sandbox.run({"plan", "--model", example_model("deepseek-v3"), "--ep", "8", "--dtype", "fp8", "--json"});
  CHECK(object_of(same).at("kernels") == object_of(asked).at("kernels"));
}

TEST_CASE("Models that were reported as planned wrong are planned as engines launch them") {
  const Sandbox sandbox;
  for (const cubinet::test::ReportedModel& model : cubinet::test::reported_models()) {
    INFO(model.name);
    const Outcome outcome =
        sandbox.run({"plan", "--model", sandbox.file("m.json", model.text), "--ep", "8", "--no-generic", "--json"});
    REQUIRE(outcome.exit_code == 0);
    std::set<std::pair<std::int64_t, std::int64_t>> shapes;
    std::set<std::int32_t> groups;
    const auto plan = object_of(outcome);
    for (const auto& kernel : plan.at("kernels")) {
      if (kernel.at("n") == 0) continue;
      shapes.emplace(kernel.at("n"), kernel.at("k"));
      for (const auto& use : kernel.at("uses")) groups.insert(use.at("groups").get<std::int32_t>());
    }
    CHECK((shapes == std::set{model.gemm1, model.gemm2}));
    CHECK((groups == std::set(model.groups.begin(), model.groups.end())));
    CHECK(families_of(outcome).contains("fp8_quantization") == (model.type == cubinet::DataType::fp8));
    CHECK(outcome.err.find(model.note) != std::string::npos);
    CHECK(plan.at("notes").size() == (*model.note == '\0' ? 0 : 1));
  }
}

TEST_CASE("plan prints how each number was derived, above the table and in JSON") {
  const Sandbox sandbox;
  const Arguments arguments{"plan", "--model", example_model("deepseek-v3"), "--ep", "8"};
  const Outcome text = sandbox.run(arguments);
  CHECK(text.out.find("groups 32    = n_routed_experts 256 / ep 8\n"
                      "GEMM1 N 4096 = 2 x moe_intermediate_size 2048 / 1\n"
                      "GEMM1 K 7168 = hidden_size\n"
                      "GEMM2 N 7168 = hidden_size\n"
                      "GEMM2 K 2048 = moe_intermediate_size 2048 / 1\n"
                      "bits 8       = fp8: quantization_config.quant_method fp8, weight_block_size [128,128]\n"
                      "\nKEY") == 0);
  Arguments with_json = arguments;
  with_json.push_back("--json");
  const auto derivation = object_of(sandbox.run(with_json)).at("derivation");
  REQUIRE(derivation.size() == 6);
  CHECK(derivation[0] == nlohmann::json{{"quantity", "groups"}, {"value", 32}, {"how", "n_routed_experts 256 / ep 8"}});
}

TEST_CASE("A model can be given by its folder") {
  const Sandbox sandbox;
  const std::filesystem::path file = example_model("deepseek-v3");
  const Outcome by_file = sandbox.run({"plan", "--model", file.string(), "--json"});
  const Outcome by_folder = sandbox.run({"plan", "--model", file.parent_path().string(), "--json"});
  CHECK(by_folder.exit_code == 0);
  CHECK(by_folder.out == by_file.out);
}

TEST_CASE("Without --dtype a model with other weights is planned in BF16, and a note says how it is quantized") {
  const Sandbox sandbox;
  const std::string mxfp4 = sandbox.file("mxfp4.json", model_with(R"({"quant_method": "mxfp4"})"));
  const Outcome other = sandbox.run({"plan", "--model", mxfp4, "--json"});
  CHECK(other.exit_code == 0);
  const std::string note =
      mxfp4 +
      ": the experts are stored as MXFP4 (quantization_config.quant_method mxfp4), which no kernel "
      "supports; planning bf16 kernels of their shapes";
  CHECK(other.err == "cubinet: note: " + note + "\n");
  CHECK(object_of(other).at("notes") == nlohmann::json{note});
  CHECK(families_of(other) == bf16_families);

  const Outcome plain = sandbox.run({"plan", "--model", example_model("qwen3-30b-a3b"), "--json"});
  CHECK(plain.err.empty());
  CHECK(families_of(plain) == bf16_families);
}

TEST_CASE("The option --dtype overrides the type of the model's weights") {
  const Sandbox sandbox;
  const std::string blocks_of_64 =
      sandbox.file("64.json", model_with(R"({"quant_method": "fp8", "weight_block_size": [64, 64]})"));
  std::set<std::string> both = bf16_families;
  both.insert(fp8_families.begin(), fp8_families.end());
  for (const std::string& model :
       {example_model("deepseek-v3"), example_model("qwen3-30b-a3b"), example_model("glm-4.5"), blocks_of_64}) {
    const auto families = [&](const std::string& types) {
      return families_of(sandbox.run({"plan", "--model", model, "--dtype", types, "--json"}));
    };
    INFO(model);
    CHECK(families("bf16") == bf16_families);
    CHECK(families("fp8") == fp8_families);
    CHECK(families("bf16,fp8") == both);
    CHECK(families("fp8,bf16,fp8") == both);
  }
  const Outcome outcome = sandbox.run({"plan", "--model", example_model("deepseek-v3"), "--dtype", "bf16", "--json"});
  CHECK(outcome.err.find("are stored as FP8 in blocks of 128 x 128 (quantization_config.quant_method fp8, "
                         "weight_block_size [128,128]); planning bf16 kernels of their shapes") != std::string::npos);
  const Outcome others = sandbox.run({"plan", "--model", blocks_of_64, "--dtype", "bf16,fp8", "--json"});
  CHECK(others.err.find("which no kernel supports; planning bf16 and fp8 kernels") != std::string::npos);
}

TEST_CASE("A shape is planned in BF16 unless --dtype says otherwise") {
  const Sandbox sandbox;
  const Arguments shape{"plan", "--shape", "576,7168,32", "--json", "--m-max", "64"};
  const auto families = [&](const Arguments& more) {
    Arguments arguments = shape;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return families_of(sandbox.run(arguments));
  };
  CHECK(families({}) == bf16_families);
  CHECK(families({"--dtype", "fp8"}) == fp8_families);
  CHECK(families({"--dtype", "fp8", "--layout", "masked"}) ==
        std::set<std::string>{"fp8_grouped_masked", "fp8_quantization"});
}

TEST_CASE("A plan with FP8 contains fp8_quantization once, without N, K and configuration") {
  const Sandbox sandbox;
  const Arguments arguments{"plan",    "--shape", "576,7168,32", "--shape", "1024,2048,16", "--dtype", "bf16,fp8",
                            "--m-min", "2",       "--m-max",     "64"};
  Arguments with_json = arguments;
  with_json.push_back("--json");
  const auto plan = object_of(sandbox.run(with_json));
  std::size_t seen = 0;
  for (const auto& kernel : plan.at("kernels")) {
    for (const char* field : {"key", "family", "n", "k", "groups", "m_ranges", "config", "uses"}) {
      CHECK(kernel.contains(field));
    }
    if (kernel.at("family") != "fp8_quantization") continue;
    ++seen;
    CHECK(kernel.at("n") == 0);
    CHECK(kernel.at("k") == 0);
    CHECK(kernel.at("config") == nlohmann::json{{"name", ""}});
  }
  CHECK(seen == 1);
  const std::string table = sandbox.run(arguments).out;
  const std::size_t start = table.find("  fp8_quantization ");
  REQUIRE(start != std::string::npos);
  CHECK(table.find("  fp8_quantization ", start + 1) == std::string::npos);
  const std::string line = table.substr(start, table.find('\n', start) - start);
  CHECK(line.find("any") != std::string::npos);
  CHECK(line.find('0') == std::string::npos);
}

TEST_CASE("Output that cannot be written is a failure") {
  // The sandbox redirects standard output to a file, so this test runs the command directly.
  const Sandbox sandbox;
  const std::string command = std::string(CUBINET_COMMAND) + " plan --shape 128,128,1 >/dev/full 2>/dev/null";
  const int status = std::system(command.c_str());
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
}
