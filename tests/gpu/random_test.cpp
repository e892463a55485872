// Many legal problems, drawn anew on every run.
#include <algorithm>

#include "gpu/gpu.hpp"

namespace cubinet::tests {
namespace {

constexpr int kShapes = 24;
constexpr int kProblemsPerShape = 9;  // 216 problems per family
constexpr int kMostFailures = 5;      // enough to see a pattern

struct Shape {
  std::int64_t n;
  std::int64_t k;
};

// Some small, some at the edges of tiles, some large.
Shape draw_shape(Dice& dice) {
  if (dice.once_in(4)) return {8 * dice.between(1, 40), 64 * dice.between(1, 8)};
  if (dice.once_in(4)) return {128 * dice.between(1, 40) + 8 * dice.between(-1, 1), 64 * dice.between(1, 64)};
  return {8 * dice.between(1, 640), 64 * dice.between(1, 64)};
}

std::int32_t draw_groups(Dice& dice) {
  return static_cast<std::int32_t>(dice.once_in(3) ? dice.between(1, 3) : dice.between(1, 80));
}

// Shares of at most `rows` for the groups; about one group in four is empty.
std::vector<std::int64_t> draw_sizes(Dice& dice, std::int32_t groups, std::int64_t rows) {
  std::vector<std::int64_t> sizes;
  for (std::int32_t g = 0; g < groups; ++g) {
    sizes.push_back(dice.once_in(4) ? 0 : dice.between(0, 2 * rows / groups));
  }
  return sizes;
}

// Segments as engines make them, sometimes with -1 sprinkled over them, whole blocks of -1, an M that is no multiple of
// the alignment, or a long tail of -1 (which also brings the configurations for many rows into play).
std::vector<std::int32_t> draw_labels(Dice& dice, std::int32_t groups) {
  auto labels = contiguous_labels(draw_sizes(dice, groups, dice.between(0, 6000)));
  if (dice.once_in(3)) {
    for (auto& label : labels) label = dice.once_in(7) ? -1 : label;
  }
  const auto blocks = static_cast<std::int64_t>(labels.size()) / contiguous_alignment();
  if (dice.once_in(3) && blocks > 0) {
    const auto first = labels.begin() + dice.between(0, blocks - 1) * contiguous_alignment();
    std::fill(first, first + contiguous_alignment(), -1);
  }
  if (dice.once_in(3))
    labels.resize(static_cast<std::size_t>(dice.between(0, static_cast<std::int64_t>(labels.size()))));
  if (dice.once_in(4)) {
    labels.resize(static_cast<std::size_t>(dice.between(static_cast<std::int64_t>(labels.size()), kLargestM / 2)), -1);
  }
  return labels;
}

}  // namespace

TEST_CASE("random contiguous problems are computed right", "[random]") {
  CUBINET_GPU(gpu);
  Dice dice(gpu.seed());
  int failures = 0;
  for (int s = 0; s < kShapes; ++s) {
    const Shape shape = draw_shape(dice);
    for (int i = 0; i < kProblemsPerShape && failures < kMostFailures; ++i) {
      const Problem problem{DataType::bf16, Layout::contiguous, shape.n, shape.k, draw_groups(dice)};
      const auto plan = contiguous_plan(problem, draw_labels(dice, problem.groups));
      const auto gemm = gpu.prepare(problem, {1, kLargestM});
      INFO(describe(plan) << " seed " << gpu.seed() << " shape " << s << " problem " << i);
      const std::string complaint = gpu.complaint(gemm, plan);
      CHECK(complaint == "");
      failures += complaint.empty() ? 0 : 1;
    }
  }
}

TEST_CASE("random masked problems are computed right", "[random]") {
  CUBINET_GPU(gpu);
  Dice dice(gpu.seed() + 1);
  int failures = 0;
  for (int s = 0; s < kShapes; ++s) {
    const Shape shape = draw_shape(dice);
    for (int i = 0; i < kProblemsPerShape && failures < kMostFailures; ++i) {
      const Problem problem{DataType::bf16, Layout::masked, shape.n, shape.k, draw_groups(dice)};
      const std::int64_t capacity = dice.once_in(3) ? dice.between(1, 40) : dice.between(1, 1500);
      std::vector<std::int32_t> counts;
      for (const std::int64_t size : draw_sizes(dice, problem.groups, dice.between(0, 6000))) {
        counts.push_back(static_cast<std::int32_t>(dice.once_in(10) ? capacity : std::min(size, capacity)));
      }
      const auto plan = masked_plan(problem, counts, capacity);
      const std::int64_t expected_m = dice.once_in(2) ? dice.between(1, 64) : dice.between(1, 8192);
      const auto gemm = gpu.prepare(problem, {1, kLargestM});
      INFO(describe(plan) << " expected_m " << expected_m << " seed " << gpu.seed() << " shape " << s << " problem "
                          << i);
      const std::string complaint = gpu.complaint(gemm, plan, expected_m);
      CHECK(complaint == "");
      failures += complaint.empty() ? 0 : 1;
    }
  }
}

}  // namespace cubinet::tests
