// A few small problems that meet every configuration of the selector, for runs under compute-sanitizer.
#include <algorithm>

#include "gpu/gpu.hpp"

namespace cubinet::tests {

TEST_CASE("small contiguous problems are computed right by every configuration", "[small]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const Problem problem{type, Layout::contiguous, 392, 3 * depth(type), 2};
  const auto gemm = gpu.prepare(problem, {1, kLargestM});
  for (const std::int64_t m : selecting_ms(problem)) {
    auto labels = contiguous_labels({65, 130});
    // Rows of -1 count for the selection and are no work.
    labels.resize(std::max(labels.size(), static_cast<std::size_t>(m)), -1);
    INFO("M " << labels.size());
    CHECK(gpu.complaint(gemm, contiguous_plan(problem, labels)) == "");
  }
}

TEST_CASE("small masked problems are computed right by every configuration", "[small]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const Problem problem{type, Layout::masked, 392, 3 * depth(type), 3};
  const auto gemm = gpu.prepare(problem, {1, kLargestM});
  const auto plan = masked_plan(problem, {17, 0, 131}, 133);
  for (const std::int64_t expected_m : selecting_ms(problem)) {
    INFO("expected_m " << expected_m);
    CHECK(gpu.complaint(gemm, plan, expected_m) == "");
  }
}

}  // namespace cubinet::tests
