// Tests of a start from a request: the problems that it names, and the errors without a device.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "catch.hpp"
#include "cubinet/cubinet.h"
#include "cubinet/cubinet.hpp"
#include "unit/capi/support.hpp"

namespace {

using namespace cubinet;
using namespace cubinet::test;
using Catch::Matchers::Contains;

// A problem set that the destructor clears.
struct ProblemSet : cubinet_problem_set {
  ProblemSet() : cubinet_problem_set CUBINET_PROBLEM_SET_INIT {}
  ~ProblemSet() { cubinet_problem_set_clear(this); }
  ProblemSet(const ProblemSet&) = delete;
  ProblemSet& operator=(const ProblemSet&) = delete;
};

cubinet_request request_of(const ModelFile& model) {
  cubinet_request request = CUBINET_REQUEST_INIT;
  request.model = model.path().c_str();
  request.expert_parallel = 2;
  request.dtype = "bf16";
  request.layout = "masked";
  request.m_last = 64;
  return request;
}

// GEMM1 and GEMM2 of that model.
const std::vector<ProblemRange> problems_of_model = {{{DataType::bf16, Layout::masked, 256, 256, 4}, {1, 64}},
                                                     {{DataType::bf16, Layout::masked, 256, 128, 4}, {1, 64}}};

Request request_in_cpp(const ModelFile& model) {
  Request request;
  request.model = model.path();
  request.expert_parallel = 2;
  request.dtype = {DataType::bf16};
  request.layout = {Layout::masked};
  request.m_last = 64;
  return request;
}

}  // namespace

TEST_CASE("A request for a model names its problems, with a derivation of their numbers") {
  const ModelFile model;
  const auto resolved = resolve({}, request_in_cpp(model));
  REQUIRE(resolved.ok());
  CHECK(resolved.value().problems == problems_of_model);
  CHECK_THAT(resolved.value().derivation, Contains("GEMM1 N"));
}

TEST_CASE("A range of M is refused for problems that have ranges of their own") {
  Request request;
  request.problems = {{{DataType::bf16, Layout::masked, 256, 256, 4}, {1, 4}}};
  CHECK(resolve({}, request).ok());
  request.m_last = 8;
  const auto refused = resolve({}, request);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::invalid_argument);
  CHECK(refused.error().message ==
        "request.m_first and request.m_last are not for request.problems: each has its own range of M");
}

TEST_CASE("A text with a NUL character is refused with the name of its field") {
  const ModelFile model;
  const auto refusal = [](const Request& request) { return resolve({}, request).error().message; };
  Request request = request_in_cpp(model);
  request.model += std::string(1, '\0') + "x";
  CHECK(refusal(request) == "request.model contains a NUL character");
  Request launched;
  launched.model = model.path();
  launched.launch["vllm"] = std::string("-tp\0 8", 6);
  CHECK(refusal(launched) == "request.vllm contains a NUL character");
}

TEST_CASE("A number that is no data type or no layout is refused with the name of its field") {
  const auto refusal = [](const Request& request) {
    const auto refused = resolve({}, request);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::invalid_argument);
    return refused.error().message;
  };
  const ModelFile model;
  Request of_model = request_in_cpp(model);
  of_model.dtype = {static_cast<DataType>(7)};
  CHECK(refusal(of_model) == "request.dtype: unknown data type 7");
  of_model = request_in_cpp(model);
  of_model.layout = {static_cast<Layout>(9)};
  CHECK(refusal(of_model) == "request.layout: unknown layout 9");
  Request of_problems;
  of_problems.problems = {problems_of_model.front(), problems_of_model.front()};
  of_problems.problems[1].problem.layout = static_cast<Layout>(9);
  CHECK(refusal(of_problems) == "request.problems[1]: unknown layout 9");
  of_problems.problems[1].problem.data_type = static_cast<DataType>(9);
  CHECK(refusal(of_problems) == "request.problems[1]: unknown data type 9");
}

TEST_CASE("The C interface names the same problems of a request as the C++ one") {
  const ModelFile model;
  const cubinet_request request = request_of(model);
  ProblemSet set;
  REQUIRE(cubinet_resolve(nullptr, &request, &set) == CUBINET_OK);
  REQUIRE(set.count == problems_of_model.size());
  CHECK(set.gemms == nullptr);
  for (std::size_t i = 0; i < set.count; ++i) {
    const auto& [problem, range] = problems_of_model[i];
    CHECK(set.problems[i].size == sizeof(cubinet_problem));
    CHECK(set.problems[i].dtype == CUBINET_BF16);
    CHECK(set.problems[i].layout == CUBINET_MASKED);
    CHECK(set.problems[i].n == problem.n);
    CHECK(set.problems[i].k == problem.k);
    CHECK(set.problems[i].groups == problem.groups);
    CHECK(set.problems[i].m_first == range.first);
    CHECK(set.problems[i].m_last == range.last);
  }
  CHECK(std::string(set.notes).find('\n') == std::string(set.notes).size() - 1);  // the model_type is not known
  CHECK_THAT(std::string(set.derivation), Contains("GEMM2 K"));
}

TEST_CASE("Problems are written with the size that the caller's struct has") {
  const ModelFile model;
  const cubinet_request request = request_of(model);
  ProblemSet set;
  set.problem_size = sizeof(cubinet_problem) + 16;
  REQUIRE(cubinet_resolve(nullptr, &request, &set) == CUBINET_OK);
  cubinet_problem second = CUBINET_PROBLEM_INIT;
  std::memcpy(&second, reinterpret_cast<const char*>(set.problems) + set.problem_size, sizeof second);
  CHECK(second.size == set.problem_size);
  CHECK(second.k == 128);
}

TEST_CASE("A problem that a request names twice becomes one, with a range that covers both") {
  const Problem problem{DataType::bf16, Layout::masked, 128, 128, 2};
  const Problem other{DataType::bf16, Layout::masked, 256, 128, 2};
  Request request;
  request.problems = {{problem, {1, 8}}, {other, {1, 1}}, {problem, {32, 64}}};
  const auto resolved = resolve({}, request);
  REQUIRE(resolved.ok());
  CHECK(resolved.value().problems == std::vector<ProblemRange>{{problem, {1, 64}}, {other, {1, 1}}});
  CHECK(resolved.value().derivation.empty());
}

TEST_CASE("A request with fields that exclude each other is refused, and the field is named") {
  const auto refusal = [](const Request& request) {
    const auto resolved = resolve({}, request);
    REQUIRE_FALSE(resolved.ok());
    return resolved.error().message;
  };
  CHECK_THAT(refusal({}), Contains("nothing to plan for: give request.model"));
  Request request;
  request.generic_only = true;
  CHECK_THAT(refusal(request), Contains("request.generic_only names no problem"));
  request = {};
  request.recorded = true;
  CHECK_THAT(refusal(request), Contains("options.cache_root"));
  request = {};
  request.launch = {{"another", "--tp 8"}};
  CHECK(refusal(request) == "request.another: no engine of this name is known");
  request = {};
  request.problems = {{{DataType::bf16, Layout::masked, 128, 100, 2}, {1, 8}}};
  CHECK_THAT(refusal(request), Contains("K must be a multiple of 64"));
  request.problems = {{{DataType::bf16, Layout::masked, 128, 128, 2}, {8, 1}}};
  CHECK_THAT(refusal(request), Contains("M from 8 to 1"));
}

TEST_CASE("An uninitialized problem set is refused, and a call that fails does not change the set") {
  const ModelFile model;
  cubinet_request request = request_of(model);
  cubinet_problem_set zero{};
  CHECK(cubinet_resolve(nullptr, &request, &zero) == CUBINET_INVALID_ARGUMENT);
  CHECK_THAT(last_error(), Contains("set.size is 0"));
  ProblemSet set;
  set.problem_size = 4;
  CHECK(cubinet_resolve(nullptr, &request, &set) == CUBINET_INVALID_ARGUMENT);
  CHECK_THAT(last_error(), Contains("set.problem_size is 4"));
  CHECK(cubinet_resolve(nullptr, &request, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(last_error() == "set is NULL");
  set.problem_size = sizeof(cubinet_problem);
  request.tensor_parallel = 7;
  CHECK(cubinet_resolve(nullptr, &request, &set) != CUBINET_OK);
  CHECK(set.problems == nullptr);
  CHECK(set.count == 0);
  cubinet_problem_set_clear(nullptr);
}

TEST_CASE("An invalid request is refused before the driver is opened") {
  const ModelFile model;
  cubinet_request request = request_of(model);
  request.tensor_parallel = 7;
  cubinet_service* service = nullptr;
  ProblemSet set;
  CHECK(cubinet_start_request(nullptr, &request, &service, &set, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK_THAT(last_error(), Contains("split evenly over request.tensor_parallel 7"));
  CHECK(service == nullptr);
}

TEST_CASE("Without a CUDA driver a start from a request returns driver_missing and no handle") {
  if (has_driver()) CUBINET_SKIP("this machine has a CUDA driver");
  const ModelFile model;
  const cubinet_request request = request_of(model);
  cubinet_options options = CUBINET_OPTIONS_INIT;
  options.cache_root = "";
  cubinet_service* service = nullptr;
  ProblemSet set;
  CHECK(cubinet_start_request(&options, &request, &service, &set, nullptr) == CUBINET_DRIVER_MISSING);
  CHECK(service == nullptr);
  CHECK(set.problems == nullptr);
  CHECK(start(ServiceOptions{}, request_in_cpp(model)).error().code == ErrorCode::driver_missing);
  CHECK(cubinet_is_capturing(nullptr) == 0);
}

TEST_CASE("Errors and notes are one line each, whatever the request and the model file contain") {
  const ModelFile model(std::string(small_model) + R"(, "moe_a\nb\u001b[31m_experts": 3)");
  cubinet_request request = request_of(model);
  request.dtype = "bf\n16\x1b[31m";
  ProblemSet set;
  REQUIRE(cubinet_resolve(nullptr, &request, &set) == CUBINET_INVALID_ARGUMENT);
  CHECK(last_error().find_first_of("\n\x1b") == std::string::npos);
  request.dtype = nullptr;
  REQUIRE(cubinet_resolve(nullptr, &request, &set) == CUBINET_OK);
  const std::string notes = set.notes;
  INFO(notes);
  CHECK(notes.find("moe_a b [31m_experts") != std::string::npos);
  CHECK(std::count(notes.begin(), notes.end(), '\n') == 2);  // about the model's type, and about that key
}
