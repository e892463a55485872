// Tests of many random valid problems, which are new in every run.
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

// Values of N for which some tile overlaps two blocks of weight scales.
constexpr std::array<std::int64_t, 5> kStraddling{576, 2112, 1600, 192, 24};

// Small values, values at the edges of tiles, and large values.
Shape draw_shape(Random& random, DataType type) {
  const std::int64_t step = depth(type);
  const std::int64_t k = step * random.between(1, 4096 / step);
  if (random.once_in(4)) return {8 * random.between(1, 40), step * random.between(1, 8)};
  if (random.once_in(4)) return {128 * random.between(1, 40) + 8 * random.between(-1, 1), k};
  return {8 * random.between(1, 640), k};
}

// The shapes of a run. Compiles their kernels.
std::vector<Shape> draw_shapes(Gpu& gpu, Random& random, DataType type, Layout layout) {
  std::vector<Shape> shapes;
  std::vector<Problem> problems;
  for (std::size_t s = 0; s < kShapes; ++s) {
    Shape shape = draw_shape(random, type);
    if (s < kStraddling.size()) shape.n = kStraddling[s];
    shapes.push_back(shape);
    problems.push_back({type, layout, shape.n, shape.k, 1});
  }
  gpu.compile_ahead(problems);
  return shapes;
}

std::int32_t draw_groups(Random& random) {
  return static_cast<std::int32_t>(random.once_in(3) ? random.between(1, 3) : random.between(1, 80));
}

// Random group sizes of at most 2 * `rows` / `groups`. About one group in four is empty.
std::vector<std::int64_t> draw_sizes(Random& random, std::int32_t groups, std::int64_t rows) {
  std::vector<std::int64_t> sizes;
  for (std::int32_t g = 0; g < groups; ++g) {
    sizes.push_back(random.once_in(4) ? 0 : random.between(0, 2 * rows / groups));
  }
  return sizes;
}

// m_indices with one segment per group, as engines make them. Some also have scattered -1, whole blocks of -1, an M
// that is not a multiple of the alignment, or a long tail of -1, which selects the configurations for many rows.
std::vector<std::int32_t> draw_m_indices(Random& random, std::int32_t groups) {
  auto m_indices = padded_m_indices(draw_sizes(random, groups, random.between(0, 6000)));
  if (random.once_in(3)) {
    for (auto& group : m_indices) group = random.once_in(7) ? -1 : group;
  }
  const auto blocks = static_cast<std::int64_t>(m_indices.size()) / contiguous_alignment();
  if (random.once_in(3) && blocks > 0) {
    const auto first = m_indices.begin() + random.between(0, blocks - 1) * contiguous_alignment();
    std::fill(first, first + contiguous_alignment(), -1);
  }
  if (random.once_in(3))
    m_indices.resize(static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(m_indices.size()))));
  if (random.once_in(4)) {
    m_indices.resize(
        static_cast<std::size_t>(random.between(static_cast<std::int64_t>(m_indices.size()), kLargestM / 2)), -1);
  }
  return m_indices;
}

std::string complaint_about_contiguous(Gpu& gpu, Random& random, const Problem& problem) {
  const auto plan = contiguous_plan(problem, draw_m_indices(random, problem.groups));
  const std::string complaint = gpu.complaint(gpu.prepare(problem, {1, kLargestM}), plan);
  return complaint.empty() ? complaint : describe(plan) + ": " + complaint;
}

std::string complaint_about_masked(Gpu& gpu, Random& random, const Problem& problem) {
  const std::int64_t capacity = random.once_in(3) ? random.between(1, 40) : random.between(1, 1500);
  std::vector<std::int32_t> counts;
  for (const std::int64_t size : draw_sizes(random, problem.groups, random.between(0, 6000))) {
    counts.push_back(static_cast<std::int32_t>(random.once_in(10) ? capacity : std::min(size, capacity)));
  }
  const auto plan = masked_plan(problem, counts, capacity);
  const std::int64_t expected_m = random.once_in(2) ? random.between(1, 64) : random.between(1, 8192);
  const std::string complaint = gpu.complaint(gpu.prepare(problem, {1, kLargestM}), plan, expected_m);
  return complaint.empty() ? complaint
                           : describe(plan) + " expected_m=" + std::to_string(expected_m) + ": " + complaint;
}

template <class Complaint>
void check_problems(Gpu& gpu, Random random, DataType type, Layout layout, const Complaint& complaint_about) {
  INFO("seed " << gpu.seed());
  int failures = 0;
  for (const Shape& shape : draw_shapes(gpu, random, type, layout)) {
    for (int i = 0; i < kProblemsPerShape && failures < kMostFailures; ++i) {
      const std::string complaint = complaint_about(gpu, random, {type, layout, shape.n, shape.k, draw_groups(random)});
      CHECK(complaint == "");
      failures += complaint.empty() ? 0 : 1;
    }
  }
}

}  // namespace

TEST_CASE("random contiguous problems are computed correctly", "[random]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  check_problems(gpu, Random(gpu.seed()), type, Layout::contiguous, complaint_about_contiguous);
}

TEST_CASE("random masked problems are computed correctly", "[random]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  check_problems(gpu, Random(gpu.seed() + 1), type, Layout::masked, complaint_about_masked);
}

}  // namespace cubinet::tests
