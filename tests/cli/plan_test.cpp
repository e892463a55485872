#include <sys/wait.h>

#include <cstdlib>
#include <set>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"

using namespace cubinet::cli;

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
    CHECK((shape == std::pair(1536, 2048) || shape == std::pair(2048, 768)));
    CHECK(kernel.at("groups") == 16);
    CHECK(kernel.at("config").is_object());
    for (const auto& range : kernel.at("m_ranges")) {
      REQUIRE(range.size() == 2);
      CHECK(range[0] >= 1);
      CHECK(range[0] <= range[1]);
      CHECK(range[1] <= 16384);
    }
    CHECK(kernel.at("uses").at(0).at("m_ranges") == kernel.at("m_ranges"));
  }
  CHECK(contents(sandbox.folder()).empty());
}

TEST_CASE("One kernel that serves two numbers of groups is listed once, with both uses") {
  const Sandbox sandbox;
  const auto plan = object_of(
      sandbox.run({"plan", "--shape", "4096,7168,32", "4096,7168,16", "--layout", "masked", "--m-max", "1", "--json"}));
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

TEST_CASE("plan prints a table for people, whose keys are those of the object") {
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

TEST_CASE("A quantized model is planned with bf16 kernels, and a note says so") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run({"plan", "--model", example_model("deepseek-v3"), "--ep", "8", "--json"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.find("quantized (fp8)") != std::string::npos);
  const auto plan = object_of(outcome);
  for (const auto& kernel : plan.at("kernels")) {
    CHECK(kernel.at("family").get<std::string>().find("bf16_") == 0);
  }
}

TEST_CASE("Output that cannot be written is a failure") {
  // Standard output is a file here, so the case is made with the real thing.
  const Sandbox sandbox;
  const std::string command = std::string(CUBINET_COMMAND) + " plan --shape 128,128,1 >/dev/full 2>/dev/null";
  const int status = std::system(command.c_str());
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
}
