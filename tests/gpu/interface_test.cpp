// Tests of the results and errors of the public interface on a device.
#include "gpu/gpu.hpp"

namespace cubinet::tests {
namespace {

constexpr Problem kContiguous{DataType::bf16, Layout::contiguous, 256, 128, 4};
constexpr Problem kMasked{DataType::bf16, Layout::masked, 256, 128, 4};

std::string refusal(const Status& status) { return status ? "" : status.error().message; }

}  // namespace

TEST_CASE("check_m_indices names the first row that breaks a rule", "[interface]") {
  CUBINET_GPU(gpu);
  const auto gemm = gpu.prepare(kContiguous, {1, 1024});
  auto m_indices = padded_m_indices({100, 200, 50, 128});
  auto& verifier = gpu.verifier();
  const auto check = [&] {
    REQUIRE(verifier.load(contiguous_plan(kContiguous, m_indices)));
    REQUIRE(verifier.wait("m_indices"));
    return gemm.check_m_indices(verifier.contiguous_arguments().m_indices, static_cast<std::int64_t>(m_indices.size()));
  };
  CHECK(refusal(check()) == "");
  m_indices[300] = 2;  // in a block of group 1
  m_indices[420] = 3;
  const auto refused = check();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::invalid_argument);
  INFO(refused.error().message);
  CHECK(refused.error().message.find("row 300 ") != std::string::npos);
}

TEST_CASE("a contiguous launch outside the prepared range compiles its kernel, except with the policy error",
          "[interface]") {
  CUBINET_GPU(gpu);
  const auto gemm = gpu.prepare(kContiguous, {129, 256});
  ServiceOptions options;
  options.miss = MissPolicy::error;
  auto strict = Service::open(options);  // without a cabinet
  REQUIRE(strict);
  REQUIRE_FALSE(strict.value().prepare(kContiguous, {129, 256}));
  auto& verifier = gpu.verifier();
  const std::int64_t many = 4 * 4096;
  REQUIRE(verifier.load(contiguous_plan(kContiguous, std::vector<std::int32_t>(many, -1))));
  REQUIRE(verifier.poison());
  REQUIRE(gemm.launch(verifier.contiguous_arguments(), verifier.stream()));
  REQUIRE(verifier.wait("a launch outside the range"));
  const auto verdict = verifier.judge();
  REQUIRE(verdict);
  CHECK(verdict->complaint == "");
  for (const std::int64_t rows : {1, 40, 250}) {
    CHECK(gpu.complaint(gemm, contiguous_plan(kContiguous, padded_m_indices({rows, 90}))) == "");
  }
}

TEST_CASE("an expected_m outside the prepared range is accepted", "[interface]") {
  CUBINET_GPU(gpu);
  const auto gemm = gpu.prepare(kMasked, {16, 32});
  const auto plan = masked_plan(kMasked, {100, 1, 0, 77}, 100);
  for (const std::int64_t expected_m : {-5, 0, 1, 20, 100000}) {
    INFO("expected_m " << expected_m);
    CHECK(gpu.complaint(gemm, plan, expected_m) == "");
  }
}

TEST_CASE("invalid arguments are refused by name, and later launches work", "[interface]") {
  CUBINET_GPU(gpu);
  const auto contiguous = gpu.prepare(kContiguous, {1, 1024});
  const auto masked = gpu.prepare(kMasked, {1, 1024});
  auto& verifier = gpu.verifier();
  const auto plan = contiguous_plan(kContiguous, padded_m_indices({100, 200, 50, 128}));
  REQUIRE(verifier.load(plan));
  const auto good = verifier.contiguous_arguments();
  const auto refused = [&](ContiguousArguments arguments, const GroupedGemm& gemm) {
    const auto status = gemm.launch(arguments, verifier.stream());
    return !status && status.error().code == ErrorCode::invalid_argument;
  };
  ContiguousArguments bad = good;
  bad.a = nullptr;
  CHECK(refused(bad, contiguous));
  bad = good;
  bad.d = static_cast<char*>(good.d) + 8;
  CHECK(refused(bad, contiguous));
  bad = good;
  bad.m = -1;
  CHECK(refused(bad, contiguous));
  CHECK(refused(good, masked));
  CHECK(gpu.complaint(contiguous, plan) == "");
}

TEST_CASE("a prepared problem can be launched after its service is destroyed", "[interface]") {
  CUBINET_GPU(gpu);
  ServiceOptions options;
  auto opened = Service::open(options);
  REQUIRE(opened);
  auto service = std::make_unique<Service>(std::move(opened).value());
  auto prepared = service->prepare(kMasked, {8, 8});
  REQUIRE(prepared);
  service.reset();
  CHECK(gpu.complaint(prepared.value(), masked_plan(kMasked, {3, 1, 0, 9}, 9), 8) == "");
}

TEST_CASE("a second preparation finds every kernel in the cabinet", "[interface]") {
  CUBINET_GPU(gpu);
  const Problem problem{DataType::bf16, Layout::masked, 248, 192, 4};
  gpu.prepare(problem, {1, 8192});
  StartReport report;
  const auto again = gpu.service().prepare(problem, {1, 8192}, &report);
  REQUIRE(again);
  CHECK(report.compiled == 0);
}

}  // namespace cubinet::tests
