#include "jit/sm90/grouped_gemm.hpp"

#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "jit/families/registry.hpp"

namespace cubinet {
namespace {

constexpr DataType kTypes[] = {DataType::bf16, DataType::fp8};

Problem problem(Layout layout, std::int64_t n, std::int64_t k, std::int32_t groups, DataType type = DataType::bf16) {
  return {.data_type = type, .layout = layout, .n = n, .k = k, .groups = groups};
}

bool refuses(const Problem& p, const std::string& word) {
  const auto verdict = jit::families().can_run(p);
  return !verdict && verdict.error().code == ErrorCode::unsupported &&
         verdict.error().message.find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("A problem that no kernel supports is refused with the rule that it breaks") {
  const Layout layout = Layout::contiguous;
  CHECK(refuses(problem(layout, 4096, 7168 + 32, 32), "multiple of 64"));
  CHECK(refuses(problem(layout, 4096 + 4, 7168, 32), "multiple of 8"));
  CHECK(refuses(problem(layout, 0, 7168, 32), "positive"));
  CHECK(refuses(problem(layout, 4096, -64, 32), "positive"));
  CHECK(refuses(problem(layout, 4096, 7168, 0), "groups"));
  CHECK(refuses(problem(layout, 4096, 7168, 65537), "groups"));
  CHECK(refuses(problem(layout, std::int64_t{1} << 40, 64, 1), "2^31"));
  CHECK(refuses(problem(layout, 1 << 20, 64, 4096), "2^31"));
}

TEST_CASE("BF16 accepts every N that is a multiple of 8 and every K that is a multiple of 64") {
  for (const Layout layout : {Layout::contiguous, Layout::masked}) {
    for (const std::int64_t n : {8, 576, 704, 2112, 2880, 7168}) {
      for (const std::int64_t k : {64, 192, 320, 704, 7168})
        CHECK(jit::families().can_run(problem(layout, n, k, 3)).has_value());
    }
  }
}

TEST_CASE("An invalid data type or layout is refused with an error, not an exception") {
  CHECK(refuses(problem(Layout::masked, 4096, 7168, 32, static_cast<DataType>(7)), "unknown data type 7"));
  CHECK(refuses(problem(static_cast<Layout>(9), 4096, 7168, 32), "unknown layout 9"));
}

TEST_CASE("FP8 accepts every K that is a multiple of 128") {
  for (const Layout layout : {Layout::contiguous, Layout::masked}) {
    CHECK(refuses(problem(layout, 4096, 192, 32, DataType::fp8), "K must be a multiple of 128 for FP8: K=192"));
    CHECK(refuses(problem(layout, 4096, 7168 + 64, 32, DataType::fp8), "multiple of 128"));
    for (const std::int64_t n : {8, 192, 576, 1600, 2112}) {
      for (const std::int64_t k : {128, 384, 7168}) {
        CHECK(jit::families().can_run(problem(layout, n, k, 3, DataType::fp8)).has_value());
      }
    }
  }
}

TEST_CASE("The selections of a range are maximal intervals of M and agree with select() at each M") {
  std::mt19937 random{std::random_device{}()};
  for (int round = 0; round < 40; ++round) {
    const Layout layout = random() % 2 ? Layout::contiguous : Layout::masked;
    const auto groups = static_cast<std::int32_t>(1 + random() % 64);
    const Problem p =
        problem(layout, 8 * (1 + random() % 900), 128 * (1 + random() % 56), groups, kTypes[random() % 2]);
    const auto first = static_cast<std::int64_t>(1 + random() % 3000);
    const MRange range{first, first + static_cast<std::int64_t>(random() % 20000)};
    INFO("groups " << groups << ", M from " << range.first << " to " << range.last);
    std::int64_t next = range.first;
    const auto& family = jit::sm90::family_of(p);
    const auto selections = jit::families().selections(p, range);
    for (std::size_t i = 0; i < selections.size(); ++i) {
      REQUIRE(selections[i].range.first == next);
      REQUIRE(selections[i].spec == jit::families().select(p, next));
      const jit::sm90::TileConfig config = family.config_of(selections[i].spec);
      if (i > 0) REQUIRE(selections[i].spec != selections[i - 1].spec);
      for (; next <= selections[i].range.last; ++next) {
        if (family.config_for(p, next) != config) FAIL("another configuration at M = " << next);
      }
    }
    REQUIRE(next == range.last + 1);
  }
}

TEST_CASE("The selections over all M are found in finite time") {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const DataType type : kTypes) {
    for (const Layout layout : {Layout::contiguous, Layout::masked}) {
      const auto selections = jit::families().selections(problem(layout, 4096, 7168, 32, type), {1, kMost});
      REQUIRE(selections.size() >= 2);
      CHECK(selections.back().range.last == kMost);
    }
  }
}

TEST_CASE("Problems that differ only in groups use the same set of configurations") {
  for (const DataType type : kTypes) {
    for (const Layout layout : {Layout::contiguous, Layout::masked}) {
      std::set<jit::KernelSpec> sets[2];
      const std::int32_t groups[] = {16, 32};
      for (int i = 0; i < 2; ++i) {
        for (const auto& s : jit::families().selections(problem(layout, 1024, 2048, groups[i], type), {1, 1 << 20})) {
          sets[i].insert(s.spec);
        }
      }
      CHECK(sets[0] == sets[1]);
    }
  }
}

TEST_CASE("Configurations with different constants have different names") {
  std::set<std::string> names;
  std::set<jit::sm90::TileConfig> configs;
  for (const DataType type : kTypes) {
    for (const Layout layout : {Layout::contiguous, Layout::masked}) {
      for (const auto& s : jit::families().selections(problem(layout, 1024, 2048, 4, type), {1, 1 << 20})) {
        configs.insert(jit::sm90::config_of(s.spec));
        names.insert(s.spec.config);
      }
    }
  }
  CHECK(names.size() == configs.size());
}

TEST_CASE("FP8 configurations have shared memory for the scales of their tokens, and BF16 ones do not") {
  for (const DataType type : kTypes) {
    for (const Layout layout : {Layout::contiguous, Layout::masked}) {
      for (const auto& s : jit::families().selections(problem(layout, 1024, 2048, 4, type), {1, 1 << 20})) {
        const jit::sm90::TileConfig config = jit::sm90::config_of(s.spec);
        CHECK(config.scaled == (type == DataType::fp8));
        CHECK(jit::sm90::dynamic_smem_bytes(config) <= 227 * 1024);
        CHECK(jit::sm90::threads_per_cta(config) <= 1024);
      }
    }
  }
}

}  // namespace cubinet
