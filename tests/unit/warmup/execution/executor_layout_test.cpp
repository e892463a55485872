// Compares the layout of an executor's memory with the documented formula.
#include "warmup/execution/executor_layout.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "catch.hpp"

namespace {

using namespace cubinet;
using warmup::executor_layout;
using warmup::ExecutorLayout;
using warmup::Extent;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::vector<Extent> parts_of(const ExecutorLayout& l) {
  return {l.a,        l.b,     l.d,        l.grouping, l.a_scales, l.scale_workspace,
          l.b_scales, l.valid, l.row_list, l.tiles,    l.sums,     l.writes};
}

// Operands, output, m_indices or masked_m, and scales of a problem at M rows.
std::int64_t documented_bytes(const Problem& problem, std::int64_t m) {
  const std::int64_t n = problem.n, k = problem.k, g = problem.groups;
  const bool masked = problem.layout == Layout::masked;
  if (problem.data_type == DataType::bf16) {
    return masked ? 2 * g * m * k + 2 * g * n * k + 4 * g + 2 * g * m * n
                  : 2 * m * k + 2 * g * n * k + 4 * m + 2 * m * n;
  }
  const std::int64_t times = masked ? g : 1;
  const std::int64_t scales = times * (4 * m * ceil_div(k, 128) + 4 * ceil_div(m, 4) * 4 * ceil_div(k, 128)) +
                              4 * g * ceil_div(n, 128) * ceil_div(k, 128);
  return (masked ? g * m * k + g * n * k + 4 * g + 2 * g * m * n : m * k + g * n * k + 4 * m + 2 * m * n) + scales;
}

Problem draw(std::mt19937_64& engine) {
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine);
  };
  return {between(0, 1) == 0 ? DataType::bf16 : DataType::fp8, between(0, 1) == 0 ? Layout::contiguous : Layout::masked,
          8 * between(1, 4096), 128 * between(1, 128), static_cast<std::int32_t>(between(1, 300))};
}

}  // namespace

TEST_CASE("An executor's memory has exactly the documented size, plus what the check needs") {
  std::mt19937_64 engine(17);
  for (int i = 0; i < 2000; ++i) {
    const Problem problem = draw(engine);
    const auto m = static_cast<std::int64_t>(engine() % 20000 + 1);
    const auto layout = executor_layout(problem, m);
    REQUIRE(layout);
    const ExecutorLayout& l = *layout;
    CHECK(l.a.bytes + l.b.bytes + l.d.bytes + l.grouping.bytes + l.a_scales.bytes + l.scale_workspace.bytes +
              l.b_scales.bytes ==
          documented_bytes(problem, m));
    const std::int64_t rows = problem.layout == Layout::masked ? problem.groups * m : m;
    CHECK(l.valid.bytes == rows);
    CHECK(l.row_list.bytes == 4 * rows);
    CHECK(l.tiles.bytes == 16 * (ceil_div(rows, 64) + problem.groups));
    CHECK(l.sums.bytes == 56 * problem.groups);
    CHECK(l.writes.bytes == 2 * 16);
  }
}

TEST_CASE("The parts of an executor's memory are aligned and disjoint, without gaps beyond the alignment") {
  std::mt19937_64 engine(18);
  for (int i = 0; i < 2000; ++i) {
    const auto layout = executor_layout(draw(engine), static_cast<std::int64_t>(engine() % 20000 + 1));
    REQUIRE(layout);
    auto parts = parts_of(*layout);
    std::erase_if(parts, [](const Extent& part) { return part.bytes == 0; });
    std::sort(parts.begin(), parts.end(), [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
    std::int64_t end = 0;
    for (const Extent& part : parts) {
      CHECK(part.offset % 256 == 0);
      CHECK(part.offset >= end);
      CHECK(part.offset - end < 256);
      end = part.offset + part.bytes;
    }
    CHECK(layout->bytes >= end);
    CHECK(layout->bytes - end < 256);
  }
}

TEST_CASE("A layer of a large model takes 12.75 GiB in BF16 and 8.6 GiB in FP8") {
  const auto gib = [](DataType type) {
    return static_cast<double>(executor_layout({type, Layout::masked, 4096, 7168, 32}, 16384)->bytes) / (1 << 30);
  };
  CHECK(std::abs(gib(DataType::bf16) - 12.75) < 0.02);
  CHECK(std::abs(gib(DataType::fp8) - 8.6) < 0.02);
}

TEST_CASE("Sizes beyond 32 bits are supported, and those that cannot be addressed are refused") {
  const Problem wide{DataType::bf16, Layout::masked, 1 << 20, 1 << 20, 4};
  REQUIRE(executor_layout(wide, 1));
  CHECK(executor_layout(wide, 1)->b.bytes == std::int64_t{2} * 4 << 40);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  CHECK(executor_layout({DataType::bf16, Layout::contiguous, 8, 64, 1}, most));
  CHECK_FALSE(executor_layout({DataType::bf16, Layout::contiguous, 8, 64, 1}, most + 1));
  CHECK(executor_layout({DataType::bf16, Layout::masked, 8, 64, 32}, most / 32));
  CHECK_FALSE(executor_layout({DataType::bf16, Layout::masked, 8, 64, 32}, most / 32 + 1));
  CHECK_FALSE(executor_layout({DataType::bf16, Layout::contiguous, 8, 64, 1}, 0));
  const Problem endless{DataType::bf16, Layout::contiguous, most / 8 * 8, most / 64 * 64, 1};
  CHECK_FALSE(executor_layout(endless, 1));
  CHECK_FALSE(executor_layout(endless, most));
}

TEST_CASE("More rows or more groups never need fewer bytes") {
  std::mt19937_64 engine(19);
  for (int i = 0; i < 500; ++i) {
    const Problem problem = draw(engine);
    Problem more = problem;
    ++more.groups;
    const auto m = static_cast<std::int64_t>(engine() % 20000 + 1);
    CHECK(executor_layout(problem, m)->bytes <= executor_layout(problem, m + 1)->bytes);
    CHECK(executor_layout(problem, m)->bytes <= executor_layout(more, m)->bytes);
  }
}
