// Tests of operands with more than 2^31 elements.
#include "gpu/gpu.hpp"
#include "jit/families/registry.hpp"

namespace cubinet::tests {
namespace {

constexpr std::int64_t kLimit = std::int64_t{1} << 31;

std::size_t bytes_of(const warmup::RowPlan& plan) {
  const Problem& p = plan.problem;
  constexpr std::int64_t for_bands_and_lists = std::int64_t{256} << 20;
  const std::int64_t operands =
      jit::element_bytes(jit::operands_of(p.data_type).a) * p.k * (plan.rows + p.groups * p.n);
  const std::int64_t outputs = p.data_type == DataType::fp8 ? 2 : 1;  // one for each layout of scales
  const std::int64_t scales = p.data_type == DataType::fp8 ? operands / 8 : 0;
  return static_cast<std::size_t>(operands + scales + outputs * 2 * plan.rows * p.n + for_bands_and_lists);
}

warmup::RowPlan contiguous_of(DataType type, std::int64_t n, std::int64_t k, std::int32_t groups,
                              std::int64_t rows_per_group) {
  const std::vector<std::int64_t> sizes(static_cast<std::size_t>(groups), rows_per_group);
  return contiguous_plan({type, Layout::contiguous, n, k, groups}, padded_m_indices(sizes));
}

warmup::RowPlan masked_of(DataType type, std::int64_t n, std::int64_t k, std::int32_t groups, std::int64_t capacity,
                          std::int32_t rows_per_group) {
  const std::vector<std::int32_t> counts(static_cast<std::size_t>(groups), rows_per_group);
  return masked_plan({type, Layout::masked, n, k, groups}, counts, capacity);
}

}  // namespace

// Skips the test case if the device has too little free memory.
#define CUBINET_CHECK_LARGE(gpu, plan, elements)                                                          \
  do {                                                                                                    \
    REQUIRE((elements) > kLimit);                                                                         \
    if ((gpu).free_bytes() < bytes_of(plan)) CUBINET_SKIP("too little device memory: " + describe(plan)); \
    const std::int64_t m = (plan).problem.layout == Layout::masked ? 256 : (plan).rows;                   \
    const auto gemm = (gpu).prepare((plan).problem, {m, m});                                              \
    INFO(describe(plan));                                                                                 \
    CHECK((gpu).complaint(gemm, plan, m) == "");                                                          \
  } while (false)

TEST_CASE("a contiguous output of more than 2^31 elements is written correctly", "[offsets]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const auto plan = contiguous_of(type, 7168, depth(type), 3, 100070);
  CUBINET_CHECK_LARGE(gpu, plan, plan.rows * plan.problem.n);
}

TEST_CASE("contiguous activations of more than 2^31 elements are read correctly", "[offsets]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const auto plan = contiguous_of(type, 72, 7168, 3, 100070);
  CUBINET_CHECK_LARGE(gpu, plan, plan.rows * plan.problem.k);
}

TEST_CASE("contiguous weights of more than 2^31 elements are read correctly", "[offsets]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const auto plan = contiguous_of(type, 7168, 4096, 80, 70);
  CUBINET_CHECK_LARGE(gpu, plan, plan.problem.groups * plan.problem.n * plan.problem.k);
}

TEST_CASE("a masked output of more than 2^31 elements is written correctly", "[offsets]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const auto plan = masked_of(type, 7168, depth(type), 60, 5003, 130);
  CUBINET_CHECK_LARGE(gpu, plan, plan.rows * plan.problem.n);
}

TEST_CASE("masked activations of more than 2^31 elements are read correctly", "[offsets]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const auto plan = masked_of(type, 72, 7168, 60, 5003, 130);
  CUBINET_CHECK_LARGE(gpu, plan, plan.rows * plan.problem.k);
}

TEST_CASE("masked weights of more than 2^31 elements are read correctly", "[offsets]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const auto plan = masked_of(type, 7168, 4096, 80, 70, 33);
  CUBINET_CHECK_LARGE(gpu, plan, plan.problem.groups * plan.problem.n * plan.problem.k);
}

}  // namespace cubinet::tests
