// Tests of the JSON of plans and campaigns.
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "jit/accepted_compilers.hpp"
#include "jit/families/registry.hpp"
#include "unit/util/failing_memory.hpp"
#include "warmup/campaign/campaign.hpp"
#include "warmup/planning/plan_json.hpp"

namespace {

using namespace cubinet;
using Json = nlohmann::ordered_json;

warmup::ResolvedRequest fp8_request() {
  warmup::ResolvedRequest request;
  request.plan.problems = {{{DataType::fp8, Layout::masked, 256, 512, 4}, {1, 32}},
                           {{DataType::fp8, Layout::masked, 256, 512, 8}, {1, 32}}};
  return request;
}

warmup::CampaignReport full_report() {
  const jit::KernelSpec spec = jit::families().quantization("sm_90a")->spec();
  warmup::CampaignReport report;
  report.kernels = 3;
  report.root = "/root of \"all\"";
  report.report.compiled = 1;
  report.report.failed = {{"aa", "family", {ErrorCode::compile_failed, "refused", "line 1\nline 2 \xFF"}}};
  report.report.remaining = {"bb"};
  report.asked.execute = true;
  report.execution.failed = {{"cc", spec, "wrong"}};
  report.execution.not_executed = {{"aa", spec, "no kernel"}, {"dd", spec, "no device"}};
  report.coverage = warmup::CoverageState::unknown;
  report.seconds = 1e-5;
  report.derivation = {{"groups", 4, "num_experts 8 / ep 2"}};
  report.notes = {"a note"};
  return report;
}

}  // namespace

TEST_CASE("A plan is written with each kernel once, its uses, and the constants of those that have any") {
  const auto request = fp8_request();
  const auto plan = warmup::make_plan(request.plan);
  REQUIRE(plan);
  const Json object = Json::parse(warmup::plan_json(request, *plan));
  CHECK(object.at("unique_kernels") == plan->kernels.size());
  CHECK(object.at("arch") == "sm_90a");
  CHECK(object.at("nvrtc") == jit::accepted_compilers().front());
  CHECK(object.at("m_range") == Json({1, 32}));
  REQUIRE(object.at("kernels").size() == plan->kernels.size());
  for (std::size_t i = 0; i < plan->kernels.size(); ++i) {
    const Json& kernel = object.at("kernels")[i];
    const jit::KernelSpec& spec = plan->kernels[i].spec;
    CHECK(kernel.at("family") == spec.family_name());
    CHECK(kernel.at("key") == jit::key_of(spec).hex());
    CHECK(kernel.at("uses")[0].at("groups") == 4);
    CHECK(kernel.at("uses")[1].at("groups") == 8);
    CHECK(kernel.at("config").contains("stages") == !spec.constants.empty());
  }
}

TEST_CASE("A campaign is written with failed and unexecuted kernels, and invalid UTF-8 is replaced") {
  const Json object = Json::parse(warmup::campaign_json(full_report()));
  CHECK(object.at("unique_kernels") == 3);
  CHECK(object.at("compiled") == 1);
  CHECK(object.at("failed") == 1);
  CHECK(object.at("failures")[0].at("code") == "compile_failed");
  CHECK(object.at("failures")[0].at("log") == "line 1\nline 2 \xEF\xBF\xBD");
  CHECK(object.at("remaining") == 1);
  CHECK(object.at("execution_failures")[0].at("message") == "wrong");
  CHECK(object.at("not_executed")[0].at("state") == "not compiled");
  CHECK(object.at("not_executed")[1].at("state") == "compiled, not executed");
  CHECK(object.at("coverage") == "unknown");
  CHECK(object.at("cache") == "/root of \"all\"");
  CHECK(object.at("seconds") == 1e-5);
  CHECK(object.at("derivation")[0].at("how") == "num_experts 8 / ep 2");
  CHECK(object.at("notes") == Json{"a note"});
}

TEST_CASE("Running out of memory while writing a report throws std::bad_alloc and does not end the process") {
  if (!test::memory_can_fail) CUBINET_SKIP(test::no_failing_memory);
  const auto report = full_report();
  const auto request = fp8_request();
  const auto plan = warmup::make_plan(request.plan);
  REQUIRE(plan);
  CHECK(test::failures_for_want_of_memory([&] { static_cast<void>(warmup::campaign_json(report)); }) > 10);
  CHECK(test::failures_for_want_of_memory([&] { static_cast<void>(warmup::plan_json(request, *plan)); }) > 10);
}

TEST_CASE("The shortfall of a campaign is reported in order of importance") {
  warmup::CampaignReport report;
  CHECK_FALSE(warmup::shortfall_of(report));
  report.asked.execute = true;
  report.execution.not_executed = {{"dd", jit::families().quantization("sm_90a")->spec(), "no device"}};
  CHECK_FALSE(warmup::shortfall_of(report));
  report.asked.strict = true;
  CHECK(warmup::shortfall_of(report)->message == "no device");
  report.report.failed = {{"aa", "family", {ErrorCode::compile_failed, "refused", ""}}};
  CHECK(warmup::shortfall_of(report)->message == "1 kernel failed; the first: refused");
  CHECK_FALSE(warmup::shortfall_of(report)->interrupted);
  report.report.remaining = {"bb", "cc"};
  CHECK(warmup::shortfall_of(report)->message == "2 kernels not begun");
  CHECK(warmup::shortfall_of(report)->interrupted);
  report.report.no_room = true;
  report.report.persist_problem = "the disk is full";
  CHECK(warmup::shortfall_of(report)->message == "2 kernels not begun: the disk is full");
  CHECK_FALSE(warmup::shortfall_of(report)->interrupted);
}
