// Tests of the statistics of a cabinet through the C interface.
#include <string>

#include "cache/maintenance.hpp"
#include "catch.hpp"
#include "unit/cache/index_holder.hpp"
#include "unit/capi/support.hpp"

namespace {

using namespace cubinet::test;
using Catch::Matchers::Contains;

// Warms the root with one kernel.
void fill(const cubinet_options* options) {
  const cubinet_problem problem = small_problem();
  const cubinet_request request = small_request(&problem, 1);
  REQUIRE(cubinet_warmup(options, &request, nullptr, nullptr) == CUBINET_OK);
}

}  // namespace

TEST_CASE("Statistics count the entries of the cabinet and the look-ups in it") {
  RootOptions options;
  fill(options.get());
  fill(options.get());
  cubinet_cache_figures figures = CUBINET_CACHE_FIGURES_INIT;
  REQUIRE(cubinet_cache_stats(options.get(), &figures) == CUBINET_OK);
  CHECK(figures.size == sizeof(figures));
  CHECK(figures.entries == 1);
  CHECK(figures.bytes > 0);
  CHECK(figures.compiles == 1);
  CHECK(figures.misses == 1);
  CHECK(figures.hits == 1);
  CHECK(figures.quarantined == 0);
  CHECK(figures.evicted_misses == 0);
  CHECK(figures.damage == 0);
  CHECK(figures.evictions == 0);
}

TEST_CASE("Statistics of a cabinet that does not exist are an error, and no cabinet is created") {
  RootOptions options;
  cubinet_cache_figures figures = CUBINET_CACHE_FIGURES_INIT;
  figures.entries = 7;
  REQUIRE(cubinet_cache_stats(options.get(), &figures) == CUBINET_NOT_FOUND);
  CHECK_THAT(last_error(), Contains(options.root()));
  CHECK(figures.entries == 7);
  CHECK_FALSE(std::filesystem::exists(options.root()));
}

TEST_CASE("A NULL for the statistics is refused, and so are options without a cabinet") {
  RootOptions options;
  CHECK(cubinet_cache_stats(options.get(), nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(last_error() == "figures is NULL");
  cubinet_cache_figures figures{};
  CHECK(cubinet_cache_stats(options.get(), &figures) == CUBINET_INVALID_ARGUMENT);
  CHECK_THAT(last_error(), Contains("figures.size is 0"));
  figures = CUBINET_CACHE_FIGURES_INIT;
  (*options).cache_root = "";
  CHECK(cubinet_cache_stats(options.get(), &figures) == CUBINET_INVALID_ARGUMENT);
  CHECK_THAT(last_error(), Contains("give options.cache_root"));
}

TEST_CASE("If the index cannot be read, its statistics are unknown") {
  RootOptions options;
  REQUIRE(
      cubinet::cache::Maintenance(*cubinet::cache::Cabinet::open(options.root(), true)).stats());  // creates the index
  const IndexHolder holder(options.root() + "/index.db");
  cubinet_cache_figures figures = CUBINET_CACHE_FIGURES_INIT;
  REQUIRE(cubinet_cache_stats(options.get(), &figures) == CUBINET_OK);
  CHECK(figures.entries == 0);
  CHECK(figures.bytes == 0);
  CHECK(figures.quarantined == 0);
  for (const auto figure :
       {figures.hits, figures.misses, figures.evicted_misses, figures.compiles, figures.damage, figures.evictions}) {
    CHECK(figure == -1);
  }
}
