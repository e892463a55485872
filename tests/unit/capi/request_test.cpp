// Tests of invalid requests: cubinet_plan and cubinet_warmup refuse them and name the field.
#include <functional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "unit/capi/support.hpp"

namespace {

using namespace cubinet::test;
using Catch::Matchers::Contains;

// The message of both functions for a refused request; checks that status and message are the same.
std::string refusal(const cubinet_request* request, cubinet_status status = CUBINET_INVALID_ARGUMENT) {
  GivenText json;
  CHECK(cubinet_plan(nullptr, request, json.where()) == status);
  const std::string of_plan = last_error();
  RootOptions options;
  CHECK(cubinet_warmup(options.get(), request, nullptr, json.where()) == status);
  CHECK(last_error() == of_plan);
  CHECK_FALSE(json.there());
  CHECK_FALSE(std::filesystem::exists(options.root()));
  return of_plan;
}

std::string refusal_of(const std::function<void(cubinet_request&)>& change,
                       cubinet_status status = CUBINET_INVALID_ARGUMENT) {
  const cubinet_problem problem = small_problem();
  cubinet_request request = small_request(&problem, 1);
  change(request);
  return refusal(&request, status);
}

std::string refusal_of_model(const ModelFile& model, const std::function<void(cubinet_request&)>& change,
                             cubinet_status status = CUBINET_INVALID_ARGUMENT) {
  cubinet_request request = CUBINET_REQUEST_INIT;
  request.model = model.path().c_str();
  change(request);
  return refusal(&request, status);
}

}  // namespace

TEST_CASE("A request that is NULL or without its size is refused") {
  CHECK(refusal(nullptr) == "request is NULL");
  CHECK_THAT(refusal_of([](auto& request) { request.size = 0; }), Contains("request.size is 0"));
  CHECK_THAT(refusal_of([](auto& request) { request.size = std::size_t{1} << 20; }), Contains("request.size is"));
}

TEST_CASE("A request for nothing, or for more than one thing, is refused") {
  CHECK(refusal_of([](auto& request) { request.problem_count = 0; }) ==
        "nothing to plan for: give request.model, request.problems, request.recorded or request.generic_only");
  const ModelFile model(small_model);
  CHECK_THAT(refusal_of([&](auto& request) { request.model = model.path().c_str(); }), Contains("more than one thing"));
  CHECK_THAT(refusal_of_model(model, [](auto& request) { request.generic_only = 1; }), Contains("more than one thing"));
  CHECK_THAT(refusal_of([](auto& request) {
               request.problem_count = 0;
               request.generic_only = 1;
               request.no_generic = 1;
             }),
             Contains("request.generic_only and request.no_generic"));
}

TEST_CASE("Ranks need a model, and each rank needs experts") {
  CHECK(refusal_of([](auto& request) { request.expert_parallel = 2; }) ==
        "request.expert_parallel, request.tensor_parallel and request.redundant_experts divide a request.model; a "
        "problem "
        "is already what one rank sees");
  const ModelFile model(small_model);
  CHECK_THAT(refusal_of_model(model, [](auto& request) { request.expert_parallel = 0; }),
             Contains("request.expert_parallel must be at least 1, not 0"));
  CHECK_THAT(refusal_of_model(model, [](auto& request) { request.expert_parallel = 16; }),
             Contains("8, is below request.expert_parallel 16"));
  CHECK_THAT(refusal_of_model(model, [](auto& request) { request.redundant_experts = -1; }),
             Contains("request.redundant_experts must be at least 0, not -1"));
  CHECK_THAT(refusal_of_model(
                 model, [](auto& request) { request.tensor_parallel = 8; }, CUBINET_UNSUPPORTED),
             Contains("expert width 128 over request.tensor_parallel 8 gives K = 16"));
}

TEST_CASE("A launch command replaces the ranks, and its errors name the field") {
  const ModelFile model(small_model);
  cubinet_request request = CUBINET_REQUEST_INIT;
  request.model = model.path().c_str();
  request.sglang = "python3 -m sglang.launch_server --tp 2 --ep 2";
  GivenText json;
  CHECK(cubinet_plan(nullptr, &request, json.where()) == CUBINET_OK);
  const auto planned = json.object();
  for (const auto& kernel : planned.at("kernels")) CHECK(kernel.at("groups") == 4);
  CHECK(refusal_of_model(model, [](auto& given) {
          given.sglang = "--tp 2";
          given.vllm = "-tp 2";
        }) == "request.sglang and request.vllm: give one launch command");
  CHECK(refusal_of_model(model, [](auto& given) { given.vllm = "-tp two"; }) ==
        "request.vllm: -tp is 'two', expected a whole number from 1 on");
  CHECK_THAT(refusal_of_model(model, [](auto& given) { given.vllm = ""; }), Contains("request.vllm is empty"));
  CHECK_THAT(refusal_of_model(model,
                              [](auto& given) {
                                given.sglang = "--tp 2";
                                given.expert_parallel = 2;
                              }),
             Contains("leave out request.expert_parallel"));
  CHECK_THAT(refusal_of_model(model,
                              [](auto& given) {
                                given.model = nullptr;
                                given.sglang = "--tp 2";
                              }),
             Contains("give the model's config.json with request.model"));
}

TEST_CASE("Errors of a model name the file, and the field to change") {
  CHECK_THAT(refusal_of_model(ModelFile(R"("num_experts": -8)"), [](auto&) {}), Contains("config.json: "));
  CHECK_THAT(refusal_of_model(
                 ModelFile(R"("hidden_size": 256)"), [](auto&) {}, CUBINET_UNSUPPORTED),
             Contains("config.json: "));
  const ModelFile model(small_model);
  CHECK_THAT(refusal_of_model(model, [](auto& request) { request.model = ""; }), Contains("request.model is empty"));
}

TEST_CASE("Errors of a model's types and layouts name the field") {
  const ModelFile model(small_model);
  CHECK(refusal_of_model(model, [](auto& request) { request.dtype = "bf16,fp16"; }) ==
        "request.dtype: 'fp16' is neither bf16 nor fp8");
  CHECK(refusal_of_model(model, [](auto& request) { request.layout = "dense"; }) ==
        "request.layout: 'dense' is neither contiguous nor masked");
  CHECK_THAT(refusal_of_model(model, [](auto& request) { request.dtype = ""; }), Contains("request.dtype is empty"));
  CHECK_THAT(refusal_of_model(
                 model, [](auto& request) { request.arch = "sm_80"; }, CUBINET_UNSUPPORTED),
             Contains("sm_80"));
}

TEST_CASE("Problems have types and layouts of their own, each of which is checked") {
  CHECK(refusal_of([](auto& request) { request.dtype = "bf16"; }) ==
        "request.dtype is not for request.problems: each has its own");
  CHECK(refusal_of([](auto& request) { request.layout = "masked"; }) ==
        "request.layout is not for request.problems: each has its own");
  CHECK(refusal_of([](auto& request) { request.problems = nullptr; }) == "request.problems is NULL");
  std::vector<cubinet_problem> problems{small_problem(), small_problem()};
  const auto give = [&](cubinet_request& request) {
    request.problems = problems.data();
    request.problem_count = problems.size();
  };
  problems[1].dtype = 9;
  CHECK(refusal_of(give) == "request.problems[1].dtype: 9 is not a valid cubinet_dtype");
  problems[1] = small_problem();
  problems[1].k = 100;
  CHECK_THAT(refusal_of(give, CUBINET_UNSUPPORTED), Contains("K must be a multiple of 64"));
}

TEST_CASE("An invalid range of M is refused") {
  CHECK(refusal_of([](auto& request) { request.m_first = 9; }) == "request.m_first 9 is above request.m_last 8");
  CHECK_THAT(refusal_of([](auto& request) { request.m_first = 0; }), Contains("M from 0 to 8"));
}

TEST_CASE("Fields that recorded problems exclude are refused by name") {
  const auto refusal_with = [](const std::function<void(cubinet_request&)>& change) {
    return refusal_of([&](cubinet_request& request) {
      request.problems = nullptr;
      request.problem_count = 0;
      request.m_last = CUBINET_LARGEST_M;
      request.recorded = 1;
      request.recorded_from = "problems.json";
      change(request);
    });
  };
  CHECK(refusal_with([](cubinet_request& request) { request.dtype = "fp8"; }) ==
        "request.dtype is not for request.recorded: each has its own");
  CHECK(refusal_with([](cubinet_request& request) { request.layout = "masked"; }) ==
        "request.layout is not for request.recorded: each has its own");
  CHECK(refusal_with([](cubinet_request& request) { request.m_last = 8; }) ==
        "request.m_first and request.m_last are not for request.recorded: each has its own range of M");
  CHECK(refusal_with([](cubinet_request& request) { request.recorded = 0; }) ==
        "request.recorded_from requires request.recorded");
  CHECK(refusal_with([](cubinet_request& request) { request.recorded_from = ""; }) ==
        "request.recorded_from is empty; pass NULL to leave it out");
  CHECK_THAT(refusal_with([](cubinet_request& request) { request.model = "config.json"; }),
             Contains("more than one thing to plan for"));
  CHECK_THAT(refusal_with([](cubinet_request& request) { request.expert_parallel = 2; }),
             Contains("a recorded problem is already what one rank sees"));
}
