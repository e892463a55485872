#include "warmup/planning/plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "catch.hpp"
#include "examples.hpp"
#include "jit/families/registry.hpp"
#include "jit/sm90/grouped_gemm.hpp"

namespace {

using namespace cubinet;
using warmup::make_plan;
using warmup::over_range;
using warmup::Plan;
using warmup::PlannedKernel;
using warmup::PlanRequest;

constexpr MRange usual_range{1, 16384};

Plan planned(const PlanRequest& request) {
  const auto plan = make_plan(request);
  INFO((plan ? std::string() : plan.error().message));
  REQUIRE(plan);
  return *plan;
}

std::string refusal(const PlanRequest& request) {
  const auto plan = make_plan(request);
  REQUIRE_FALSE(plan);
  return plan.error().message;
}

Problem problem_of(Layout layout, std::int64_t n, std::int64_t k, std::int32_t groups) {
  return {DataType::bf16, layout, n, k, groups};
}

// One element per range of M: the kernel, the number of groups, the first and the last M.
using Uses = std::set<std::tuple<jit::KernelSpec, std::int32_t, std::int64_t, std::int64_t>>;

// The same by a selection for every single M.
Uses walked(const PlanRequest& request) {
  Uses uses;
  for (const auto& [problem, range] : request.problems) {
    std::int64_t start = range.first;
    const auto& family = jit::sm90::family_of(problem);
    jit::sm90::TileConfig current = family.config_for(problem, start);
    for (std::int64_t m = start + 1; m <= range.last + 1; ++m) {
      const bool end = m > range.last;
      if (!end && family.config_for(problem, m) == current) continue;
      uses.emplace(jit::sm90::spec_for(problem, current), problem.groups, start, m - 1);
      if (!end) current = family.config_for(problem, m);
      start = m;
    }
  }
  return uses;
}

Uses uses_of(const Plan& plan) {
  Uses uses;
  for (const PlannedKernel& kernel : plan.kernels) {
    for (const auto& use : kernel.uses) {
      for (const MRange& range : use.m_ranges) uses.emplace(kernel.spec, use.problem.groups, range.first, range.last);
    }
  }
  return uses;
}

void check_exact(const PlanRequest& request) {
  const Plan plan = planned(request);
  const Uses actual = uses_of(plan);
  const Uses expected = walked(request);
  CHECK(actual.size() == expected.size());
  CHECK((actual == expected));

  std::set<jit::KernelSpec> specs;
  for (const PlannedKernel& kernel : plan.kernels) {
    CHECK(specs.insert(kernel.spec).second);
    CHECK_FALSE(kernel.uses.empty());
  }
}

}  // namespace

TEST_CASE("The plan of every example model holds exactly the kernels that some M selects, for exactly those M") {
  for (const std::string& model : warmup::example_models()) {
    for (const std::int64_t expert_parallel : {8, 16}) {
      INFO(model << " at expert parallelism " << expert_parallel);
      const std::vector<Problem> problems = warmup::example_problems(model, expert_parallel);
      if (problems.empty()) {
        CHECK((model == "mixtral-8x7b" && expert_parallel == 16));
        continue;
      }
      check_exact({over_range(problems, usual_range), {}});
    }
  }
}

TEST_CASE("The plan of unusual shapes and ranges holds exactly the kernels that some M selects") {
  const std::vector<Problem> problems{
      problem_of(Layout::contiguous, 8, 64, 1),      problem_of(Layout::masked, 8, 64, 1),
      problem_of(Layout::contiguous, 2112, 7168, 1), problem_of(Layout::masked, 704, 192, 3),
      problem_of(Layout::contiguous, 576, 320, 257), problem_of(Layout::masked, 28672, 4096, 65536),
  };
  for (const MRange range : {usual_range, MRange{1, 1}, MRange{127, 129}, MRange{100, 5000}, MRange{16384, 16384}}) {
    for (const std::int32_t num_sms : {132, 78, 1}) {
      INFO("M from " << range.first << " to " << range.last << ", " << num_sms << " SMs");
      check_exact({over_range(problems, range), {"sm_90a", num_sms}});
    }
  }
}

TEST_CASE("Ranges of M are ascending, disjoint and not adjacent") {
  for (const std::string& model : warmup::example_models()) {
    const Plan plan = planned({over_range(warmup::example_problems(model, 8), usual_range), {}});
    for (const PlannedKernel& kernel : plan.kernels) {
      for (const auto& use : kernel.uses) {
        REQUIRE_FALSE(use.m_ranges.empty());
        for (std::size_t i = 0; i < use.m_ranges.size(); ++i) {
          CHECK(use.m_ranges[i].first <= use.m_ranges[i].last);
          if (i > 0) CHECK(use.m_ranges[i - 1].last + 1 < use.m_ranges[i].first);
        }
      }
    }
  }
}

TEST_CASE("Problems that differ only in groups share every kernel that both select") {
  for (const std::string& model : warmup::example_models()) {
    std::vector<Problem> both = warmup::example_problems(model, 8);
    const std::vector<Problem> wider = warmup::example_problems(model, 16);
    if (wider.empty()) continue;
    const auto specs_of = [](const std::vector<Problem>& problems) {
      std::set<jit::KernelSpec> specs;
      for (const auto& kernel : planned({over_range(problems, usual_range), {}}).kernels) specs.insert(kernel.spec);
      return specs;
    };
    std::set<jit::KernelSpec> united = specs_of(both);
    united.merge(specs_of(wider));
    both.insert(both.end(), wider.begin(), wider.end());
    INFO(model);
    CHECK((specs_of(both) == united));
  }
}

TEST_CASE("The number of groups is not part of a kernel's key") {
  const auto key = [&](std::int32_t groups) {
    return jit::key_of(jit::families().select(problem_of(Layout::masked, 4096, 7168, groups), 64));
  };
  CHECK((key(32) == key(16)));
}

TEST_CASE("The order of the kernels depends on the set of problems, not on their order") {
  std::vector<Problem> problems = warmup::example_problems("qwen3-30b-a3b", 8);
  const Plan forward = planned({over_range(problems, usual_range), {}});
  std::reverse(problems.begin(), problems.end());
  const Plan backward = planned({over_range(problems, usual_range), {}});
  REQUIRE(forward.kernels.size() == backward.kernels.size());
  for (std::size_t i = 0; i < forward.kernels.size(); ++i) {
    CHECK((forward.kernels[i].spec == backward.kernels[i].spec));
  }
  const auto family_and_shape = [](const PlannedKernel& kernel) {
    return std::tie(kernel.spec.family_name(), kernel.spec.n, kernel.spec.k);
  };
  CHECK(std::is_sorted(forward.kernels.begin(), forward.kernels.end(),
                       [&](const auto& a, const auto& b) { return family_and_shape(a) < family_and_shape(b); }));
}

TEST_CASE("A problem that is given twice is planned once") {
  const Problem problem = problem_of(Layout::masked, 4096, 7168, 32);
  const Plan once = planned({{{problem, usual_range}}, {}});
  const Plan twice = planned({over_range({problem, problem}, usual_range), {}});
  CHECK((uses_of(once) == uses_of(twice)));
  CHECK(once.kernels.size() == twice.kernels.size());
  for (const auto& kernel : twice.kernels) CHECK(kernel.uses.size() == 1);
}

TEST_CASE("Each problem has the kernels of its own range of M, or of all its ranges if given several times") {
  const Problem masked = problem_of(Layout::masked, 4096, 7168, 32);
  const Problem contiguous = problem_of(Layout::contiguous, 4096, 7168, 32);
  check_exact({{{masked, {1, 64}}, {contiguous, {128, 65536}}}, {}});
  check_exact({{{masked, {1, 2}}, {masked, {1000, 5000}}}, {}});
  const auto uses = [&](const std::vector<ProblemRange>& problems) { return uses_of(planned({problems, {}})); };
  CHECK((uses({{masked, {1, 300}}, {masked, {200, 5000}}, {masked, {10, 20}}}) == uses({{masked, {1, 5000}}})));
  CHECK((uses({{masked, {301, 5000}}, {masked, {1, 300}}}) == uses({{masked, {1, 5000}}})));
}

TEST_CASE("Overlapping or adjacent ranges of one problem are merged, and others are kept") {
  const Problem a = problem_of(Layout::masked, 4096, 7168, 32);
  const Problem b = problem_of(Layout::contiguous, 4096, 7168, 32);
  const std::vector<ProblemRange> given{{a, {10, 20}}, {b, {5, 6}}, {a, {1, 3}}, {a, {15, 16}}, {a, {4, 8}}};
  CHECK((warmup::merged(given) == std::vector<ProblemRange>{{a, {1, 8}}, {a, {10, 20}}, {b, {5, 6}}}));
  CHECK((warmup::whole_range(given) == MRange{1, 20}));
}

TEST_CASE("A plan up to the largest M has only a few dozen kernels") {
  const auto problems = warmup::example_problems("deepseek-v3", 8);
  const Plan plan = planned({over_range(problems, {1, largest_m()}), {}});
  CHECK(plan.kernels.size() >= 4);
  CHECK(plan.kernels.size() <= 100);
}

TEST_CASE("A range of M that grows beyond the first M of the last configuration adds no kernel") {
  for (const std::string& model : warmup::example_models()) {
    for (const Problem& problem : warmup::example_problems(model, 8)) {
      const auto rungs = jit::families().selections(problem, {1, largest_m()});
      const auto kernels_to = [&](std::int64_t m_last) {
        return planned({{{problem, {1, m_last}}}, {}}).kernels.size();
      };
      CHECK(kernels_to(largest_m()) == rungs.size());
      CHECK(kernels_to(largest_m()) == kernels_to(rungs.back().range.first));
    }
  }
}

TEST_CASE("A range that is empty, not positive or too large is refused with its bounds") {
  const std::vector<Problem> problems{problem_of(Layout::masked, 4096, 7168, 32)};
  CHECK(refusal({over_range(problems, {0, 128}), {}}).find("M from 0 to 128") != std::string::npos);
  CHECK(refusal({over_range(problems, {-5, 128}), {}}).find("M from -5 to 128") != std::string::npos);
  CHECK(refusal({over_range(problems, {129, 128}), {}}).find("M from 129 to 128") != std::string::npos);
  CHECK(refusal({over_range(problems, {1, largest_m() + 1}), {}}).find("M from 1 to ") != std::string::npos);
}

TEST_CASE("A problem that no kernel supports is refused before planning, with the broken rule") {
  const std::string k = refusal({{{problem_of(Layout::masked, 4096, 100, 32), usual_range}}, {}});
  CHECK(k.find("K=100") != std::string::npos);
  CHECK(k.find("64") != std::string::npos);
  CHECK(refusal({{{problem_of(Layout::masked, 4097, 128, 32), usual_range}}, {}}).find("N=4097") != std::string::npos);
  CHECK_FALSE(make_plan({{{problem_of(Layout::masked, 4096, 128, 0), usual_range}}, {}}));
  CHECK_FALSE(make_plan({{}, {}}));
  CHECK_FALSE(make_plan({{{problem_of(Layout::masked, 4096, 128, 1), usual_range}}, {"sm_90a", 0}}));
}

TEST_CASE("An unknown architecture, such as sm_90, is refused by name") {
  const std::vector<Problem> problems{problem_of(Layout::masked, 4096, 7168, 32)};
  for (const char* architecture : {"sm_90", "sm_100a", "hopper", ""}) {
    INFO(architecture);
    const std::string message = refusal({over_range(problems, usual_range), {architecture}});
    CHECK(message.find(architecture) != std::string::npos);
    CHECK(message.find("sm_90a") != std::string::npos);
  }
}

TEST_CASE("A plan with FP8 problems holds the quantization kernels once, and a plan without holds none") {
  const Problem bf16 = problem_of(Layout::masked, 1024, 512, 4);
  const Problem contiguous{DataType::fp8, Layout::contiguous, 1024, 512, 4};
  const Problem masked{DataType::fp8, Layout::masked, 576, 256, 8};
  const auto quantization = [](const Plan& plan) {
    std::vector<PlannedKernel> found;
    for (const PlannedKernel& kernel : plan.kernels) {
      if (kernel.spec == jit::families().quantization("sm_90a")->spec()) found.push_back(kernel);
    }
    return found;
  };
  const MRange range{7, 4096};
  CHECK(quantization(planned({{{bf16, range}}, {}})).empty());
  const auto found = quantization(planned({over_range({contiguous, bf16, masked, contiguous}, range), {}}));
  REQUIRE(found.size() == 1);
  REQUIRE(found.front().uses.size() == 2);
  CHECK(found.front().uses[0].problem == contiguous);
  CHECK(found.front().uses[1].problem == masked);
  for (const auto& use : found.front().uses) CHECK(use.m_ranges == std::vector<MRange>{range});
}

TEST_CASE("Apart from quantization a plan of FP8 problems holds exactly the kernels that some M selects") {
  const std::vector<Problem> problems{{DataType::fp8, Layout::contiguous, 4096, 7168, 32},
                                      {DataType::fp8, Layout::masked, 4096, 7168, 32},
                                      {DataType::fp8, Layout::masked, 2112, 128, 3}};
  const PlanRequest request{over_range(problems, usual_range), {}};
  Plan plan = planned(request);
  std::erase_if(plan.kernels, [](const PlannedKernel& kernel) { return kernel.spec.constants.empty(); });
  CHECK((uses_of(plan) == walked(request)));
}

TEST_CASE("FP8 and BF16 problems of one shape share no kernel") {
  Problem problem = problem_of(Layout::masked, 1024, 512, 4);
  const auto count = [](const std::vector<Problem>& problems) {
    return planned({over_range(problems, usual_range), {}}).kernels.size();
  };
  const Problem bf16 = problem;
  problem.data_type = DataType::fp8;
  CHECK(count({bf16, problem}) == count({bf16}) + count({problem}));
}
