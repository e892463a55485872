// Operands of more than 2^31 elements.
#include "gpu/gpu.hpp"

namespace cubinet::tests {
namespace {

constexpr std::int64_t kLimit = std::int64_t{1} << 31;

std::size_t bytes_of(const warmup::RowPlan& plan) {
  const Problem& p = plan.problem;
  constexpr std::int64_t for_bands_and_lists = std::int64_t{256} << 20;
  return static_cast<std::size_t>(2 * (plan.rows * (p.k + p.n) + p.groups * p.n * p.k) + for_bands_and_lists);
}

warmup::RowPlan contiguous_of(std::int64_t n, std::int64_t k, std::int32_t groups, std::int64_t rows_per_group) {
  const std::vector<std::int64_t> sizes(static_cast<std::size_t>(groups), rows_per_group);
  return contiguous_plan({DataType::bf16, Layout::contiguous, n, k, groups}, contiguous_labels(sizes));
}

warmup::RowPlan masked_of(std::int64_t n, std::int64_t k, std::int32_t groups, std::int64_t capacity,
                          std::int32_t rows_per_group) {
  const std::vector<std::int32_t> counts(static_cast<std::size_t>(groups), rows_per_group);
  return masked_plan({DataType::bf16, Layout::masked, n, k, groups}, counts, capacity);
}

}  // namespace

// Ends the test case as skipped where the device's memory is short.
#define CUBINET_CHECK_LARGE(gpu, plan, elements)                                                          \
  do {                                                                                                    \
    REQUIRE((elements) > kLimit);                                                                         \
    if ((gpu).free_bytes() < bytes_of(plan)) CUBINET_SKIP("too little device memory: " + describe(plan)); \
    const std::int64_t m = (plan).problem.layout == Layout::masked ? 256 : (plan).rows;                   \
    const auto gemm = (gpu).prepare((plan).problem, {m, m});                                              \
    INFO(describe(plan));                                                                                 \
    CHECK((gpu).complaint(gemm, plan, m) == "");                                                          \
  } while (false)

TEST_CASE("a contiguous output of more than 2^31 elements is written right", "[offsets]") {
  CUBINET_GPU(gpu);
  const auto plan = contiguous_of(7168, 64, 3, 100070);
  CUBINET_CHECK_LARGE(gpu, plan, plan.rows * plan.problem.n);
}

TEST_CASE("contiguous activations of more than 2^31 elements are read right", "[offsets]") {
  CUBINET_GPU(gpu);
  const auto plan = contiguous_of(72, 7168, 3, 100070);
  CUBINET_CHECK_LARGE(gpu, plan, plan.rows * plan.problem.k);
}

TEST_CASE("contiguous weights of more than 2^31 elements are read right", "[offsets]") {
  CUBINET_GPU(gpu);
  const auto plan = contiguous_of(7168, 4096, 80, 70);
  CUBINET_CHECK_LARGE(gpu, plan, plan.problem.groups * plan.problem.n * plan.problem.k);
}

TEST_CASE("a masked output of more than 2^31 elements is written right", "[offsets]") {
  CUBINET_GPU(gpu);
  const auto plan = masked_of(7168, 64, 60, 5003, 130);
  CUBINET_CHECK_LARGE(gpu, plan, plan.rows * plan.problem.n);
}

TEST_CASE("masked activations of more than 2^31 elements are read right", "[offsets]") {
  CUBINET_GPU(gpu);
  const auto plan = masked_of(72, 7168, 60, 5003, 130);
  CUBINET_CHECK_LARGE(gpu, plan, plan.rows * plan.problem.k);
}

TEST_CASE("masked weights of more than 2^31 elements are read right", "[offsets]") {
  CUBINET_GPU(gpu);
  const auto plan = masked_of(7168, 4096, 80, 70, 33);
  CUBINET_CHECK_LARGE(gpu, plan, plan.problem.groups * plan.problem.n * plan.problem.k);
}

}  // namespace cubinet::tests
