// Rows dealt out at random are rows that the kernels take.
#include "warmup/execution/random_rows.hpp"

#include <algorithm>
#include <set>

#include "catch.hpp"
#include "jit/labels.hpp"

namespace {

using namespace cubinet;

constexpr Problem contiguous{DataType::bf16, Layout::contiguous, 128, 128, 5};
constexpr Problem masked{DataType::bf16, Layout::masked, 128, 128, 5};

}  // namespace

TEST_CASE("Random labels are sound, ascend, leave no plan without a valid row and padding in most") {
  int padded = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    for (const std::int64_t rows : {1, 127, 128, 129, 1000, 4096}) {
      const auto plan = warmup::random_contiguous_plan(contiguous, rows, seed);
      REQUIRE(plan.rows == rows);
      CHECK(jit::check_label_rows(plan.selectors, contiguous.groups));
      CHECK(plan.valid_rows() > 0);
      std::vector<std::int32_t> labels = plan.selectors;
      std::erase(labels, -1);
      CHECK(std::is_sorted(labels.begin(), labels.end()));
      padded += rows == 1000 && plan.valid_rows() < rows;
    }
  }
  CHECK(padded > 250);
}

TEST_CASE("Random counts lie within the capacity, and one group is full") {
  std::set<std::int64_t> seen;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    for (const std::int64_t capacity : {1, 7, 300}) {
      const auto plan = warmup::random_masked_plan(masked, capacity, seed);
      CHECK(plan.rows == 5 * capacity);
      CHECK(plan.capacity == capacity);
      CHECK(*std::max_element(plan.selectors.begin(), plan.selectors.end()) == capacity);
      if (capacity == 7) seen.insert(plan.selectors.begin(), plan.selectors.end());
    }
  }
  CHECK(seen.size() == 8);
}

TEST_CASE("Another seed deals other rows, the same seed the same") {
  const auto labels = [](std::uint64_t seed) {
    return warmup::random_contiguous_plan(contiguous, 1000, seed).selectors;
  };
  CHECK(labels(1) == labels(1));
  CHECK(labels(1) != labels(2));
}
