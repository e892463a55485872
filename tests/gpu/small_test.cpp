// A few small problems that meet every configuration of the selector, for runs under compute-sanitizer.
#include "gpu/gpu.hpp"

namespace cubinet::tests {

TEST_CASE("small contiguous problems are computed right", "[small]") {
  CUBINET_GPU(gpu);
  const Problem problem{DataType::bf16, Layout::contiguous, 392, 192, 3};
  const auto gemm = gpu.prepare(problem, {1, 16384});
  for (const auto& sizes : std::vector<std::vector<std::int64_t>>{{1, 0, 130}, {64, 65, 200}}) {
    const auto plan = contiguous_plan(problem, contiguous_labels(sizes));
    INFO(describe(plan));
    CHECK(gpu.complaint(gemm, plan) == "");
  }
}

TEST_CASE("a small contiguous problem with many rows per group is computed right", "[small]") {
  CUBINET_GPU(gpu);
  // Rows of -1 count for the selection, so the configuration for large inputs meets little work.
  const Problem problem{DataType::bf16, Layout::contiguous, 392, 192, 1};
  std::vector<std::int32_t> labels(4096, -1);
  std::fill_n(labels.begin() + 128, 300, 0);
  const auto plan = contiguous_plan(problem, labels);
  CHECK(gpu.complaint(gpu.prepare(problem, {1, 16384}), plan) == "");
}

TEST_CASE("small masked problems are computed right for every hint", "[small]") {
  CUBINET_GPU(gpu);
  const Problem problem{DataType::bf16, Layout::masked, 392, 192, 3};
  const auto gemm = gpu.prepare(problem, {1, 16384});
  const auto plan = masked_plan(problem, {17, 0, 131}, 133);
  for (const std::int64_t expected_m : {1, 24, 80, 300, 16384}) {
    INFO("expected_m " << expected_m);
    CHECK(gpu.complaint(gemm, plan, expected_m) == "");
  }
}

}  // namespace cubinet::tests
