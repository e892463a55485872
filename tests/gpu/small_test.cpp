// A few small problems that meet every configuration of the selector, for runs under compute-sanitizer. With few
// columns a CTA takes one tile at most, with many it takes six: only then are stages and tile slots used again.
#include <algorithm>

#include "gpu/gpu.hpp"

namespace cubinet::tests {

namespace {

constexpr std::int64_t kFewColumns = 392;

// Two stretches of rows make at least two tiles of every 128 columns.
std::int64_t many_columns(Gpu& gpu) { return 128 * 3 * gpu.session().device->info().num_sms; }

void check_contiguous(Gpu& gpu, DataType type, std::int64_t columns) {
  const Problem problem{type, Layout::contiguous, columns, 3 * depth(type), 2};
  const auto gemm = gpu.prepare(problem, {1, kLargestM});
  for (const std::int64_t m : selecting_ms(problem)) {
    auto labels = contiguous_labels({65, 130});
    // Rows of -1 count for the selection and are no work.
    labels.resize(std::max(labels.size(), static_cast<std::size_t>(m)), -1);
    INFO("N " << columns << " M " << labels.size());
    CHECK(gpu.complaint(gemm, contiguous_plan(problem, labels)) == "");
  }
}

void check_masked(Gpu& gpu, DataType type, std::int64_t columns) {
  const Problem problem{type, Layout::masked, columns, 3 * depth(type), 3};
  const auto gemm = gpu.prepare(problem, {1, kLargestM});
  const auto plan = masked_plan(problem, {17, 0, 131}, 133);
  for (const std::int64_t expected_m : selecting_ms(problem)) {
    INFO("N " << columns << " expected_m " << expected_m);
    CHECK(gpu.complaint(gemm, plan, expected_m) == "");
  }
}

}  // namespace

TEST_CASE("small contiguous problems are computed right by every configuration", "[small]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  check_contiguous(gpu, type, kFewColumns);
}

TEST_CASE("small masked problems are computed right by every configuration", "[small]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  check_masked(gpu, type, kFewColumns);
}

TEST_CASE("stages and slots that CTAs use again hold what the next tile needs", "[small]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  check_contiguous(gpu, type, many_columns(gpu));
  check_masked(gpu, type, many_columns(gpu));
}

}  // namespace cubinet::tests
