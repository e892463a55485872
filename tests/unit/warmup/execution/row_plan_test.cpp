#include "warmup/execution/row_plan.hpp"

#include <algorithm>
#include <set>

#include "catch.hpp"
#include "jit/gemm_arguments.hpp"
#include "support/test_problems.hpp"

namespace cubinet::warmup {
namespace {

constexpr Problem kContiguous{DataType::bf16, Layout::contiguous, 16, 64, 3};
constexpr Problem kMasked{DataType::bf16, Layout::masked, 16, 64, 3};
constexpr Problem kRandomContiguous{DataType::bf16, Layout::contiguous, 128, 128, 5};
constexpr Problem kRandomMasked{DataType::bf16, Layout::masked, 128, 128, 5};

}  // namespace

TEST_CASE("segments start at multiples of the alignment and are padded with -1") {
  const auto m_indices = test::padded_m_indices({1, 0, 130});
  REQUIRE(m_indices.size() == 128 + 256);
  CHECK(m_indices[0] == 0);
  CHECK(m_indices[1] == -1);
  CHECK(m_indices[127] == -1);
  CHECK(m_indices[128] == 2);
  CHECK(m_indices[128 + 129] == 2);
  CHECK(m_indices[128 + 130] == -1);
}

TEST_CASE("exactly the valid rows of a contiguous plan are valid") {
  const auto plan = contiguous_plan(kContiguous, {0, -1, 2, 2, -1});
  CHECK(plan.rows == 5);
  CHECK(plan.valid == std::vector<std::uint8_t>{1, 0, 1, 1, 0});
  CHECK(plan.valid_rows() == 3);
  CHECK(plan.flop() == 2.0 * 3 * 16 * 64);
  CHECK(test::least_bytes_moved(plan) == 2.0 * (3 * 16 * 64 + 3 * (16 + 64)));
}

TEST_CASE("an FP8 plan counts one byte per operand element, and the scales") {
  const auto plan = contiguous_plan({DataType::fp8, Layout::contiguous, 136, 256, 3}, {0, -1, 2, 2, -1});
  CHECK(plan.flop() == 2.0 * 3 * 136 * 256);
  CHECK(test::least_bytes_moved(plan) == 3 * 136 * 256 + 3 * 256 + 2 * 3 * 136 + 4 * (3 * 2 * 2 + 3 * 2));
}

TEST_CASE("exactly the first rows of each group of a masked plan are valid") {
  const auto plan = masked_plan(kMasked, {2, 0, 1}, 2);
  CHECK(plan.rows == 6);
  CHECK(plan.valid == std::vector<std::uint8_t>{1, 1, 0, 0, 1, 0});
}

TEST_CASE("a plan refuses m_indices and masked_m that are out of range") {
  CHECK_THROWS(contiguous_plan(kContiguous, {3}));
  CHECK_THROWS(contiguous_plan(kContiguous, {-2}));
  CHECK_THROWS(masked_plan(kMasked, {0, 3, 0}, 2));
  CHECK_THROWS(masked_plan(kMasked, {0, 0}, 2));
  CHECK_THROWS(masked_plan(kContiguous, {0, 0, 0}, 2));
}

TEST_CASE("every valid row is listed once under its group, in tiles of at most 64") {
  const auto plan = masked_plan(kMasked, {65, 0, 130}, 130);
  const auto tiles = tiles_of(plan);
  CHECK(tiles.rows.size() == 195);
  std::vector<int> seen(static_cast<std::size_t>(plan.rows), 0);
  for (const RowTile& tile : tiles.tiles) {
    CHECK(tile.count >= 1);
    CHECK(tile.count <= 64);
    for (std::int32_t i = tile.first; i < tile.first + tile.count; ++i) {
      const std::int32_t row = tiles.rows[static_cast<std::size_t>(i)];
      CHECK(row / 130 == tile.group);
      ++seen[static_cast<std::size_t>(row)];
    }
  }
  for (std::size_t row = 0; row < seen.size(); ++row) CHECK(seen[row] == plan.valid[row]);
}

TEST_CASE("a sample keeps the first and the last row of every group") {
  const auto tiles = tiles_of(masked_plan(kMasked, {65, 0, 3}, 65), 16);
  CHECK(tiles.rows == std::vector<std::int32_t>{0, 16, 32, 48, 64, 130, 132});
}

TEST_CASE("Random m_indices are valid and ascending, with a valid row in every plan and padding in most") {
  int padded = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    for (const std::int64_t rows : {1, 127, 128, 129, 1000, 4096}) {
      const auto plan = random_contiguous_plan(kRandomContiguous, rows, seed);
      REQUIRE(plan.rows == rows);
      CHECK(jit::check_m_indices(plan.grouping, kRandomContiguous.groups));
      CHECK(plan.valid_rows() > 0);
      std::vector<std::int32_t> m_indices = plan.grouping;
      std::erase(m_indices, -1);
      CHECK(std::is_sorted(m_indices.begin(), m_indices.end()));
      padded += rows == 1000 && plan.valid_rows() < rows;
    }
  }
  CHECK(padded > 250);
}

TEST_CASE("Random masked_m are within the capacity, and one group is full") {
  std::set<std::int64_t> seen;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    for (const std::int64_t capacity : {1, 7, 300}) {
      const auto plan = random_masked_plan(kRandomMasked, capacity, seed);
      CHECK(plan.rows == 5 * capacity);
      CHECK(plan.capacity == capacity);
      CHECK(*std::max_element(plan.grouping.begin(), plan.grouping.end()) == capacity);
      if (capacity == 7) seen.insert(plan.grouping.begin(), plan.grouping.end());
    }
  }
  CHECK(seen.size() == 8);
}

TEST_CASE("Equal seeds give equal rows, and different seeds different rows") {
  const auto m_indices = [](std::uint64_t seed) {
    return random_contiguous_plan(kRandomContiguous, 1000, seed).grouping;
  };
  CHECK(m_indices(1) == m_indices(1));
  CHECK(m_indices(1) != m_indices(2));
}

}  // namespace cubinet::warmup
