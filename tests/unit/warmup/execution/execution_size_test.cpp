// Tests of the largest execution within a budget.
#include "warmup/execution/execution_size.hpp"

#include <random>

#include "catch.hpp"
#include "jit/families/registry.hpp"
#include "jit/sm90/grouped_gemm.hpp"
#include "warmup/execution/executor_layout.hpp"

namespace {

using namespace cubinet;
using warmup::choose_size;
using warmup::ExecutionSize;
using warmup::PlannedKernel;
using warmup::PlannedUse;
using warmup::smallest_charge;

constexpr std::int64_t kMib = std::int64_t{1} << 20;

warmup::Plan planned(const Problem& problem, std::int64_t largest_m) {
  warmup::PlanRequest request;
  request.problems = {{problem, {1, largest_m}}};
  const auto plan = warmup::make_plan(request);
  REQUIRE(plan);
  return *plan;
}

// Calls `body` for each GEMM kernel of a problem with its use.
template <class Body>
void for_each_kernel(const Problem& problem, std::int64_t largest_m, const Body& body) {
  for (const PlannedKernel& kernel : planned(problem, largest_m).kernels) {
    if (kernel.spec.n != 0) body(kernel.uses.front(), kernel.spec.config);
  }
}

bool fits(const Problem& problem, std::int64_t rows, std::int64_t available) {
  const auto layout = warmup::executor_layout(problem, rows);
  return layout && warmup::charged_bytes(layout->bytes) <= available;
}

bool selects(const ExecutionSize& size, std::int64_t m, const std::string& config) {
  return jit::families().select(size.problem, m).config == config;
}

// The largest M of [1, last] that selects the configuration and fits, found by trying each M; 0 if there is none.
std::int64_t largest_by_asking(Problem problem, std::int64_t groups, std::int64_t last,
                               const jit::sm90::TileConfig& config, std::int64_t available) {
  problem.groups = static_cast<std::int32_t>(groups);
  const auto& family = jit::sm90::family_of(problem);
  for (std::int64_t m = last; m >= 1; --m) {
    if (family.config_for(problem, m) == config && fits(problem, m, available)) return m;
  }
  return 0;
}

const std::vector<Problem> four_families{{DataType::bf16, Layout::contiguous, 7168, 4096, 32},
                                         {DataType::bf16, Layout::masked, 7168, 4096, 32},
                                         {DataType::fp8, Layout::contiguous, 7168, 4096, 32},
                                         {DataType::fp8, Layout::masked, 7168, 4096, 32}};

}  // namespace

TEST_CASE("Every kernel of a large layer and its operands fit into 64 MiB") {
  for (const Problem& problem : four_families) {
    for_each_kernel(problem, 16384, [&](const PlannedUse& use, const std::string& config) {
      const auto size = choose_size(use, config, 58 * kMib);
      REQUIRE(size);
      CHECK(fits(size->problem, size->rows, 58 * kMib));
      CHECK(size->bytes == warmup::executor_layout(size->problem, size->rows)->bytes);
      CHECK(size->problem.groups == (problem.data_type == DataType::bf16 ? 1 : 2));
      if (!size->forced) CHECK(selects(*size, size->m, config));
    });
  }
}

TEST_CASE("With enough memory the problem's own groups and its largest M are executed") {
  for (const Problem& problem : four_families) {
    for_each_kernel(problem, 131072, [&](const PlannedUse& use, const std::string& config) {
      const auto size = choose_size(use, config, std::int64_t{1} << 40);
      REQUIRE(size);
      CHECK_FALSE(size->forced);
      CHECK(size->problem == problem);
      CHECK(size->rows == use.m_ranges.back().last);
      CHECK(size->m == size->rows);
      CHECK(size->first_m == use.m_ranges.front().first);
    });
  }
}

TEST_CASE("choose_size finds the same size as an exhaustive search over M and groups") {
  std::mt19937_64 engine(23);
  constexpr std::int64_t last = 12000;
  for (int i = 0; i < 60; ++i) {
    const Problem problem{i % 2 == 0 ? DataType::bf16 : DataType::fp8, Layout::contiguous,
                          static_cast<std::int64_t>(8 * (engine() % 64 + 1)),
                          static_cast<std::int64_t>(128 * (engine() % 8 + 1)),
                          static_cast<std::int32_t>(engine() % 6 + 1)};
    const auto available = static_cast<std::int64_t>(engine() % 16 + 1) * kMib;
    for_each_kernel(problem, last, [&](const PlannedUse& use, const std::string& config) {
      const auto wanted = jit::sm90::family_of(problem).config_for(problem, use.m_ranges.front().first);
      REQUIRE(jit::sm90::name(wanted) == config);
      std::int64_t groups = problem.groups;
      std::int64_t m = 0;
      while (groups > 0 && m == 0) {
        m = largest_by_asking(problem, groups, last, wanted, available);
        if (m == 0) --groups;
      }
      const auto size = choose_size(use, config, available);
      if (m > 0) {
        REQUIRE(size);
        CHECK_FALSE(size->forced);
        CHECK(size->problem.groups == groups);
        CHECK(size->m == m);
        CHECK(selects(*size, size->first_m, config));
      } else if (size) {
        CHECK(size->forced);
        CHECK(fits(size->problem, size->rows, available));
        CHECK_FALSE(fits(size->problem, size->rows + 1, available));
      } else {
        CHECK(available < smallest_charge(problem));
      }
    });
  }
}

TEST_CASE("If no M that selects a kernel fits, the kernel is forced on a smaller M") {
  const Problem problem{DataType::bf16, Layout::contiguous, 7168, 4096, 32};
  const std::string config = jit::families().select(problem, 131072).config;
  const auto size = choose_size({problem, {{65537, 131072}}}, config, 60 * kMib);
  REQUIRE(size);
  CHECK(size->forced);
  CHECK(size->problem.groups == 1);
  CHECK(size->rows > 1);
  CHECK_FALSE(fits(size->problem, size->rows + 1, 60 * kMib));
}

TEST_CASE("In the masked layout expected_m selects the kernel, whatever capacity fits") {
  const Problem problem{DataType::bf16, Layout::masked, 7168, 4096, 32};
  const std::string config = jit::families().select(problem, 16384).config;
  const auto size = choose_size({problem, {{2049, 16384}}}, config, 60 * kMib);
  REQUIRE(size);
  CHECK_FALSE(size->forced);
  CHECK(size->rows < 2049);
  CHECK(size->m == 2049);
}

TEST_CASE("A kernel is executed with smallest_charge() or more, and not with less") {
  for (const Problem& problem : four_families) {
    const std::int64_t smallest = smallest_charge(problem);
    for_each_kernel(problem, 131072, [&](const PlannedUse& use, const std::string& config) {
      CHECK_FALSE(choose_size(use, config, smallest - 1));
      CHECK(choose_size(use, config, smallest));
    });
    const PlannedUse use{problem, {{1, 128}}};
    for (const std::int64_t nothing : {std::int64_t{0}, std::int64_t{-1}, -64 * kMib}) {
      CHECK_FALSE(choose_size(use, jit::families().select(problem, 1).config, nothing));
    }
  }
}
