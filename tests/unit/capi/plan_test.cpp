// Compares the plan of the C interface with that of the command.
#include <string>
#include <vector>

#include "catch.hpp"
#include "cli/command.hpp"
#include "unit/capi/support.hpp"
#include "unit/util/failing_memory.hpp"

namespace {

using namespace cubinet::test;
using namespace cubinet::cli;

nlohmann::json planned(const cubinet_request& request) {
  GivenText json;
  const cubinet_status status = cubinet_plan(nullptr, &request, json.where());
  INFO(last_error());
  REQUIRE(status == CUBINET_OK);
  return json.object();
}

nlohmann::json printed(const Arguments& arguments) {
  const Sandbox sandbox;
  return object_of(sandbox.run(with({"plan", "--json"}, arguments)));
}

}  // namespace

TEST_CASE("The plan of a model is the one that the command prints") {
  const std::string model = example_model("deepseek-v3");
  cubinet_request request = CUBINET_REQUEST_INIT;
  request.model = model.c_str();
  CHECK(planned(request) == printed({"--model", model}));
  request.expert_parallel = 8;
  request.dtype = "fp8,bf16";
  request.layout = "masked";
  request.m_first = 16;
  request.m_last = 4096;
  request.no_generic = 1;
  CHECK(planned(request) == printed({"--model", model, "--ep", "8", "--dtype", "fp8,bf16", "--layout", "masked",
                                     "--m-min", "16", "--m-max", "4096", "--no-generic"}));
}

TEST_CASE("The plan of problems is the one that the command prints for their shapes") {
  std::vector<cubinet_problem> problems{small_problem(), small_problem(256)};
  problems[0].m_first = 77;  // ignored, because the request has a range
  cubinet_request request = CUBINET_REQUEST_INIT;
  request.problems = problems.data();
  request.problem_count = problems.size();
  CHECK(planned(request) == printed({"--shape", "128,128,2", "256,128,2", "--layout", "masked"}));
}

TEST_CASE("The plan of the generic kernels alone is the one that the command prints") {
  cubinet_request request = CUBINET_REQUEST_INIT;
  request.generic_only = 1;
  CHECK(planned(request) == printed({"--generic-only"}));
  request.dtype = "bf16";
  request.layout = "contiguous";
  CHECK(planned(request) == printed({"--generic-only", "--dtype", "bf16", "--layout", "contiguous"}));
}

TEST_CASE("Recorded problems are planned from an exported list and from the options' cabinet, as by the command") {
  const TempFolder folder;
  const std::string file = folder / "problems.json";
  write_file(file,
             R"({"version":1,"problems":[{"dtype":"bf16","layout":"masked","n":128,"k":128,"groups":2,"m_range":[1,8],)"
             R"("arch":"sm_90a","asked":7}]})");
  cubinet_request request = CUBINET_REQUEST_INIT;
  request.recorded = 1;
  request.recorded_from = file.c_str();
  CHECK(planned(request) == printed({"--recorded", "--from", file}));
  request.recorded_from = nullptr;
  RootOptions options;
  GivenText json;
  CHECK(cubinet_plan(options.get(), &request, json.where()) == CUBINET_NOT_FOUND);
  CHECK(last_error() == "there is no cabinet at " + options.root() + ", nor a file of recorded problems");
}

TEST_CASE("A NULL for the plan's text is refused") {
  const cubinet_problem problem = small_problem();
  const cubinet_request request = small_request(&problem, 1);
  REQUIRE(cubinet_plan(nullptr, &request, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(last_error() == "json is NULL");
}

// The request is one that is refused, so that NVRTC is not opened: without memory libstdc++ ends the process when it
// lists a folder.
TEST_CASE("A plan without memory for its request returns out_of_memory") {
  cubinet_problem problem = small_problem();
  problem.k = 100;
  const cubinet_request request = small_request(&problem, 1);
  int failures = 0;
  for (cubinet_status status = CUBINET_OUT_OF_MEMORY; status != CUBINET_UNSUPPORTED; ++failures) {
    GivenText json;
    {
      const FailingMemory memory(failures);
      status = cubinet_plan(nullptr, &request, json.where());
    }
    CHECK_FALSE(json.there());
    if (status != CUBINET_UNSUPPORTED) REQUIRE(status == CUBINET_OUT_OF_MEMORY);
  }
  CHECK(failures > 5);
}
