#include "bench_cases.hpp"

#include <algorithm>

#include "catch.hpp"

namespace cubinet::bench {
namespace {

std::vector<Case> recorded() {
  auto cases = read_cases(std::string(CUBINET_SOURCE_DIR) + "/bench/cases/deepgemm-54e2261-h200.json");
  REQUIRE(cases);
  return *cases;
}

}  // namespace

TEST_CASE("the record holds 54 BF16 and 54 FP8 cases, and nothing else") {
  const auto cases = recorded();
  const auto fp8 = std::count_if(cases.begin(), cases.end(), [](const Case& c) { return matches(c, "fp8"); });
  CHECK(fp8 == 54);
  CHECK(cases.size() == 108);
  for (const Case& c : cases) {
    INFO(c.name);
    CHECK(matches(c, c.problem.data_type == DataType::fp8 ? "fp8" : "bf16"));
    CHECK(matches(c, c.problem.layout == Layout::masked ? "masked" : "contig"));
  }
}

TEST_CASE("group sizes match the record's groups, valid rows and padded rows") {
  for (const Case& c : recorded()) {
    INFO(c.name);
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      const auto sizes = group_sizes(c, seed);
      REQUIRE(sizes);
      const auto plan = plan_of(c, *sizes);
      CHECK(static_cast<std::int32_t>(sizes->size()) == c.problem.groups);
      CHECK(plan.valid_rows() == c.valid);
      CHECK(plan.rows == (c.problem.layout == Layout::masked ? c.problem.groups * c.capacity : c.padded_m));
    }
  }
}

TEST_CASE("group sizes lie in 0.7 to 1.3 of the recorded rows per group") {
  for (const Case& c : recorded()) {
    INFO(c.name);
    const auto sizes = group_sizes(c, 7);
    REQUIRE(sizes);
    for (const std::int64_t size : *sizes) {
      CHECK(static_cast<double>(size) >= 0.7 * static_cast<double>(c.rows_per_group) - 1);
      CHECK(static_cast<double>(size) <= 1.3 * static_cast<double>(c.rows_per_group) + 1);
    }
  }
}

TEST_CASE("a filter matches whole words, and all of its words must match") {
  const Case c = recorded().front();
  CHECK(c.name == "bf16 contig g4 m8192 n4096 k7168");
  CHECK(matches(c, ""));
  CHECK(matches(c, "k7168 contig"));
  CHECK_FALSE(matches(c, "contig m819"));
  CHECK_FALSE(matches(c, "contig m128"));
}

TEST_CASE("a record that is missing or is not JSON is refused by name") {
  const auto missing = read_cases("/nonexistent/record.json");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::not_found);
  const auto wrong = read_cases(std::string(CUBINET_SOURCE_DIR) + "/bench/cases/README.md");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message.find("README.md") != std::string::npos);
}

}  // namespace cubinet::bench
