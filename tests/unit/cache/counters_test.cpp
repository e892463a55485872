// The counters of a root. Look-ups count in memory; the index is written outside of look-ups.
#include <atomic>
#include <thread>

#include "cache/counters.hpp"
#include "cache/index_tables.hpp"
#include "catch.hpp"
#include "unit/cache/index_holder.hpp"
#include "unit/cache/set_clock.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
using cache::Cabinet;
using cache::Counters;
using cache::Origin;
namespace fs = std::filesystem;

namespace {

Counters counters_of(Cabinet&& cabinet) { return cache::Maintenance(cabinet).stats()->counters; }
Counters counters_of(Cabinet& cabinet) { return cache::Maintenance(cabinet).stats()->counters; }

}  // namespace

TEST_CASE("hits, misses and compilations are counted, and a copied entry counts as none of them") {
  test::Filled root(1);
  CHECK(counters_of(root.cabinet) == Counters());
  REQUIRE(root.cabinet.publish(test::key_of(1), test::object_of(1), Origin::compiled));
  REQUIRE(root.cabinet.publish(test::key_of(1), test::object_of(1), Origin::compiled));  // compiled by two at once
  root.cabinet.record_misses({test::key_of(7)});
  root.cabinet.record_hits({test::key_of(0), test::key_of(1)});
  CHECK(counters_of(root.cabinet) == Counters{.hits = 2, .misses = 3, .compiles = 2});
  CHECK(counters_of(Cabinet::open(root.layout.root, false).value()) == Counters{.hits = 2, .misses = 3, .compiles = 2});
}

TEST_CASE("a miss of an evicted entry is counted as such once, and a miss of a removed entry never") {
  test::Filled root(3);
  REQUIRE(root.maintenance().collect({.entries = 1}, false));
  REQUIRE(test::entries_of(root.cabinet)->size() == 1);
  const auto stays = test::entries_of(root.cabinet)->front().key;
  REQUIRE(root.maintenance().remove(stays));
  for (int i = 0; i < 3; ++i) {
    REQUIRE(root.cabinet.publish(test::key_of(i), test::object_of(i), Origin::compiled));
  }
  CHECK(counters_of(root.cabinet) == Counters{.misses = 3, .compiles = 3, .evictions = 2, .evicted_misses = 2});
  root.cabinet.record_misses({test::key_of(0)});
  CHECK(counters_of(root.cabinet).evicted_misses == 2);
}

TEST_CASE("only the latest evicted keys are remembered, up to the bound") {
  test::Filled root(0);
  REQUIRE(test::entries_of(root.cabinet));
  auto database = test::open_index(root.layout);
  std::vector<cache::Key> keys;
  for (int i = 0; i < cache::max_evicted + 5; ++i) keys.push_back(test::key_of(i));
  auto transaction = cache::Transaction::begin(database);  // else each of 10,000 is synced
  REQUIRE(transaction);
  REQUIRE(cache::remember_evicted(database, {keys.begin(), keys.begin() + 8}));
  REQUIRE(cache::remember_evicted(database, {keys.begin() + 8, keys.end()}));
  REQUIRE(transaction->commit());
  CHECK(database.integer("SELECT count(*) FROM evicted").value() == cache::max_evicted);
  CHECK(cache::forget_evicted(database, {keys.begin(), keys.begin() + 5}).value() == 0);
  CHECK(cache::forget_evicted(database, {keys[5], keys.back()}).value() == 2);
}

TEST_CASE("damage that look-ups find is counted in memory and written when the cabinet is destroyed") {
  test::Filled root(1);
  test::write_file(root.layout.object(test::key_of(0)), "damaged");
  {
    auto cabinet = Cabinet::open(root.layout.root, false);
    const auto before = test::contents(root.layout.index());
    CHECK_FALSE(cabinet->find(test::key_of(0), test::record_of(0)));
    CHECK(test::contents(root.layout.index()) == before);
  }
  CHECK(counters_of(root.cabinet) == Counters{.damage = 1});
}

TEST_CASE("counts that cannot be written while another process holds the index are written later") {
  test::Filled root(1, {.index_patience = std::chrono::milliseconds(20)});
  {
    const test::IndexHolder holder(root.layout.index());
    root.cabinet.record_hits({test::key_of(0)});
    root.cabinet.record_misses({test::key_of(5)});
    REQUIRE(root.cabinet.publish(test::key_of(1), test::object_of(1), Origin::compiled));
  }
  CHECK(counters_of(root.cabinet) == Counters{.hits = 1, .misses = 2, .compiles = 1});
}

TEST_CASE("counters that cannot be read are reported as unknown, not as zero") {
  test::Filled root(1, {.index_patience = std::chrono::milliseconds(20)});
  root.cabinet.record_hits({test::key_of(0)});
  const auto survey = root.maintenance().survey();
  REQUIRE(survey);
  {
    const test::IndexHolder holder(root.layout.index());
    CHECK(root.maintenance().stats(*survey).index_problem.find("busy") != std::string::npos);
  }
  const auto stats = root.maintenance().stats(*survey);
  CHECK(stats.index_problem.empty());
  CHECK(stats.counters == Counters{.hits = 1});
}

TEST_CASE("a child made by fork writes its own counts and not its parent's") {
  test::Filled root(2);
  test::write_file(root.layout.object(test::key_of(0)), "damaged");
  auto cabinet = std::make_unique<Cabinet>(Cabinet::open(root.layout.root, false).value());
  CHECK_FALSE(cabinet->find(test::key_of(0), test::record_of(0)));
  CHECK(test::in_child([&] {
          cabinet->record_hits({test::key_of(1)});
          cabinet.reset();
          return 0;
        }) == 0);
  CHECK(counters_of(root.cabinet) == Counters{.hits = 1});
  cabinet.reset();
  CHECK(counters_of(root.cabinet) == Counters{.hits = 1, .damage = 1});
}

TEST_CASE("concurrent threads and processes lose no counts") {
  test::Filled root(1);
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    children.push_back(test::start_child([&] {
      for (int i = 0; i < 10; ++i) root.cabinet.record_hits({test::key_of(0)});
      root.cabinet.record_misses({test::key_of(7), test::key_of(8)});
      return 0;
    }));
  }
  for (const pid_t child : children) CHECK(test::wait_for(child) == 0);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) root.cabinet.record_hits({test::key_of(0)});
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(counters_of(root.cabinet) == Counters{.hits = 80, .misses = 8});
  CHECK(root.maintenance().stats()->hits == 80);
}

TEST_CASE("concurrent calls take each count once") {
  cache::PendingCounters tally;
  std::atomic<std::int64_t> taken{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        tally.add({.misses = 1});
        taken += tally.take().misses;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(taken + tally.take().misses == 4000);
}

TEST_CASE("the counters of a rebuilt index start at zero") {
  test::Filled root(1);
  root.cabinet.record_hits({test::key_of(0)});
  fs::remove(root.layout.index());
  CHECK(counters_of(root.cabinet) == Counters());
}
