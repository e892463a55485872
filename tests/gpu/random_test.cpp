// Many legal problems, drawn anew on every run.
#include <algorithm>
#include <array>

#include "gpu/gpu.hpp"

namespace cubinet::tests {
namespace {

constexpr std::size_t kShapes = 24;
constexpr int kProblemsPerShape = 9;  // 216 problems per family
constexpr int kMostFailures = 5;      // enough to see a pattern

struct Shape {
  std::int64_t n;
  std::int64_t k;
};

// N of which some tile straddles two blocks of weight scales.
constexpr std::array<std::int64_t, 5> kStraddling{576, 2112, 1600, 192, 24};

// Some small, some at the edges of tiles, some large.
Shape draw_shape(Dice& dice, DataType type) {
  const std::int64_t step = depth(type);
  const std::int64_t k = step * dice.between(1, 4096 / step);
  if (dice.once_in(4)) return {8 * dice.between(1, 40), step * dice.between(1, 8)};
  if (dice.once_in(4)) return {128 * dice.between(1, 40) + 8 * dice.between(-1, 1), k};
  return {8 * dice.between(1, 640), k};
}

// The shapes of a run, their kernels compiled.
std::vector<Shape> draw_shapes(Gpu& gpu, Dice& dice, DataType type, Layout layout) {
  std::vector<Shape> shapes;
  std::vector<Problem> problems;
  for (std::size_t s = 0; s < kShapes; ++s) {
    Shape shape = draw_shape(dice, type);
    if (s < kStraddling.size()) shape.n = kStraddling[s];
    shapes.push_back(shape);
    problems.push_back({type, layout, shape.n, shape.k, 1});
  }
  gpu.compile_ahead(problems);
  return shapes;
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

std::string complaint_about_contiguous(Gpu& gpu, Dice& dice, const Problem& problem) {
  const auto plan = contiguous_plan(problem, draw_labels(dice, problem.groups));
  const std::string complaint = gpu.complaint(gpu.prepare(problem, {1, kLargestM}), plan);
  return complaint.empty() ? complaint : describe(plan) + ": " + complaint;
}

std::string complaint_about_masked(Gpu& gpu, Dice& dice, const Problem& problem) {
  const std::int64_t capacity = dice.once_in(3) ? dice.between(1, 40) : dice.between(1, 1500);
  std::vector<std::int32_t> counts;
  for (const std::int64_t size : draw_sizes(dice, problem.groups, dice.between(0, 6000))) {
    counts.push_back(static_cast<std::int32_t>(dice.once_in(10) ? capacity : std::min(size, capacity)));
  }
  const auto plan = masked_plan(problem, counts, capacity);
  const std::int64_t expected_m = dice.once_in(2) ? dice.between(1, 64) : dice.between(1, 8192);
  const std::string complaint = gpu.complaint(gpu.prepare(problem, {1, kLargestM}), plan, expected_m);
  return complaint.empty() ? complaint
                           : describe(plan) + " expected_m=" + std::to_string(expected_m) + ": " + complaint;
}

template <class Complaint>
void check_problems(Gpu& gpu, Dice dice, DataType type, Layout layout, const Complaint& complaint_about) {
  INFO("seed " << gpu.seed());
  int failures = 0;
  for (const Shape& shape : draw_shapes(gpu, dice, type, layout)) {
    for (int i = 0; i < kProblemsPerShape && failures < kMostFailures; ++i) {
      const std::string complaint = complaint_about(gpu, dice, {type, layout, shape.n, shape.k, draw_groups(dice)});
      CHECK(complaint == "");
      failures += complaint.empty() ? 0 : 1;
    }
  }
}

}  // namespace

TEST_CASE("random contiguous problems are computed right", "[random]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  check_problems(gpu, Dice(gpu.seed()), type, Layout::contiguous, complaint_about_contiguous);
}

TEST_CASE("random masked problems are computed right", "[random]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  check_problems(gpu, Dice(gpu.seed() + 1), type, Layout::masked, complaint_about_masked);
}

}  // namespace cubinet::tests
