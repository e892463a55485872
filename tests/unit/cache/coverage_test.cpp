// Coverage records in the index.
#include "cache/index.hpp"

#include "cache/sqlite.hpp"
#include "catch.hpp"
#include "unit/cache/index_holder.hpp"
#include "unit/cache/set_clock.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
using cache::Coverage;
namespace fs = std::filesystem;

namespace {

const std::string subject = R"({"arch":"sm_90a"})";
const std::string other_subject = R"({"arch":"other"})";

std::vector<cache::Key> keys_of(int count) {
  std::vector<cache::Key> keys;
  for (int i = 0; i < count; ++i) keys.push_back(test::key_of(i));
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::int64_t version_of(const cache::Layout& layout) { return test::number(layout, "PRAGMA user_version"); }

// Changes the index to schema version 2.
void turn_back_to_version_2(const cache::Layout& layout) {
  test::sql(layout,
            "DROP TABLE coverage; DROP TABLE evicted; DROP TABLE counters; DROP TRIGGER entry_put; DROP TRIGGER "
            "entry_resized; DROP TRIGGER entry_dropped; PRAGMA user_version = 2");
}

}  // namespace

TEST_CASE("coverage records are read back, the latest first, and a new record of a subject replaces the old one") {
  test::SetClock clock;
  test::Filled root(3, {.clock = clock});
  CHECK(root.maintenance().coverage()->empty());
  auto unsorted = keys_of(3);
  std::swap(unsorted.front(), unsorted.back());
  REQUIRE(root.maintenance().record_coverage(subject, unsorted));
  clock.now += 5;
  REQUIRE(root.maintenance().record_coverage(other_subject, {}));
  CHECK((root.maintenance().coverage().value() ==
         std::vector<Coverage>{{other_subject, {}, clock.now}, {subject, keys_of(3), clock.now - 5}}));
  clock.now += 5;
  REQUIRE(root.maintenance().record_coverage(subject, keys_of(2)));
  CHECK((root.maintenance().coverage().value() ==
         std::vector<Coverage>{{subject, keys_of(2), clock.now}, {other_subject, {}, clock.now - 5}}));
}

TEST_CASE("a dropped record is gone, and the others stay") {
  test::Filled root(1);
  REQUIRE(root.maintenance().record_coverage(subject, keys_of(1)));
  REQUIRE(root.maintenance().record_coverage(other_subject, keys_of(1)));
  const auto recorded = root.maintenance().coverage().value();
  const auto named = [&](const std::string& name) {
    return *std::find_if(recorded.begin(), recorded.end(), [&](const Coverage& one) { return one.subject == name; });
  };
  root.maintenance().drop_coverage({named(subject), {"never recorded", {}, 1}});
  REQUIRE(root.maintenance().coverage()->size() == 1);
  CHECK(root.maintenance().coverage()->front().subject == other_subject);
}

TEST_CASE("a record that another process has replaced since it was read is not dropped") {
  test::SetClock clock;
  test::Filled root(2, {.clock = clock});
  REQUIRE(root.maintenance().record_coverage(subject, keys_of(2)));
  const auto keys = keys_of(1);
  for (const int step : {0, 1}) {  // other keys at the same time, then the same ones at another
    const auto read = root.maintenance().coverage().value();
    clock.now += step;
    REQUIRE(root.maintenance().record_coverage(subject, keys));
    root.maintenance().drop_coverage(read);
    CHECK((root.maintenance().coverage().value() == std::vector<Coverage>{{subject, keys, clock.now}}));
  }
  root.maintenance().drop_coverage(root.maintenance().coverage().value());
  CHECK(root.maintenance().coverage()->empty());
}

TEST_CASE("the number of records is bounded, and the oldest are deleted") {
  test::SetClock clock;
  test::Filled root(0, {.clock = clock});
  for (int i = 0; i < cache::max_coverages + 3; ++i, ++clock.now) {
    REQUIRE(root.maintenance().record_coverage(std::to_string(i), {}));
  }
  const auto kept = root.maintenance().coverage().value();
  REQUIRE(kept.size() == static_cast<std::size_t>(cache::max_coverages));
  CHECK(kept.back().subject == "3");
}

TEST_CASE("records with a time in the future are deleted before those with a correct time") {
  test::SetClock clock;
  test::Filled root(0, {.clock = clock}, test::memory_place());
  const std::int64_t right = clock.now;
  clock.now += std::int64_t{10} * 365 * 86'400;
  for (int i = 0; i < cache::max_coverages; ++i)
    REQUIRE(root.maintenance().record_coverage("late " + std::to_string(i), {}));
  clock.now = right;
  for (int i = 0; i < 3; ++i, ++clock.now) REQUIRE(root.maintenance().record_coverage(std::to_string(i), {}));
  const auto kept = root.maintenance().coverage().value();
  REQUIRE(kept.size() == static_cast<std::size_t>(cache::max_coverages));
  for (const char* latest : {"0", "1", "2"}) {
    CHECK(std::any_of(kept.begin(), kept.end(), [&](const auto& one) { return one.subject == latest; }));
  }
}

TEST_CASE("a row that was changed after it was written is skipped") {
  test::Filled root(1);
  for (const char* spoil : {"subject = 'x'", "keys = '[]'", "recorded = recorded + 1", "digest = ''", "keys = '{'"}) {
    INFO(spoil);
    REQUIRE(root.maintenance().record_coverage(subject, keys_of(1)));
    test::sql(root.layout, std::string("UPDATE coverage SET ") + spoil);
    CHECK(root.maintenance().coverage()->empty());
  }
  REQUIRE(root.maintenance().record_coverage(subject, keys_of(1)));
  CHECK(root.maintenance().coverage()->size() == 1);
}

TEST_CASE("a rebuilt index has no coverage") {
  test::Filled root(2);
  REQUIRE(root.maintenance().record_coverage(subject, keys_of(2)));
  test::write_file(root.layout.index(), "not a database");
  CHECK(root.maintenance().coverage()->empty());
  CHECK(test::entries_of(root.cabinet)->size() == 2);
  REQUIRE(root.maintenance().record_coverage(subject, keys_of(2)));
  fs::remove(root.layout.index());
  CHECK(root.maintenance().coverage()->empty());
}

TEST_CASE("an index of schema version 2 gains coverage in place, and keeps hits and times of use") {
  test::SetClock clock;
  test::Filled root(2, {.clock = clock});
  root.cabinet.record_hits({test::key_of(0)});
  turn_back_to_version_2(root.layout);
  CHECK(root.maintenance().coverage()->empty());
  CHECK(version_of(root.layout) == cache::index_schema_version);
  REQUIRE(root.maintenance().record_coverage(subject, keys_of(2)));
  CHECK(root.maintenance().coverage()->size() == 1);
  const auto entry = test::entries_of(root.cabinet, test::key_of(0).hex()).value().front();
  CHECK(entry.hits == 1);
  CHECK(entry.last_used == clock.now);
  CHECK(fs::is_empty(root.layout.quarantine()));
}

TEST_CASE("an index of schema version 2 that cannot be changed is read, and has no coverage") {
  test::Filled root(2);
  root.cabinet.record_hits({test::key_of(0)});
  turn_back_to_version_2(root.layout);
  CHECK(root.maintenance().verify(false)->index_problem.empty());
  const auto before = test::snapshot(root.layout.root);
  auto stack = cache::Cabinet::open_stack({}, false, {root.layout.root});
  REQUIRE(stack);
  CHECK(cache::Maintenance(stack->cabinet).stats()->hits == 1);
  CHECK(cache::Maintenance(stack->cabinet).stats()->index_problem.empty());
  CHECK(cache::Maintenance(stack->cabinet).coverage()->empty());
  CHECK(test::snapshot(root.layout.root) == before);
}

TEST_CASE("an index whose coverage table has other columns is replaced") {
  test::Filled root(2);
  test::sql(root.layout, "DROP TABLE coverage; CREATE TABLE coverage (x)");
  CHECK(root.maintenance().coverage()->empty());
  REQUIRE(root.maintenance().record_coverage(subject, keys_of(2)));
  CHECK(root.maintenance().coverage()->size() == 1);
  CHECK(test::entries_of(root.cabinet)->size() == 2);
}

TEST_CASE("in a read-only root coverage is read, and is neither recorded nor dropped") {
  test::Filled root(1);
  REQUIRE(root.maintenance().record_coverage(subject, keys_of(1)));
  const auto before = test::snapshot(root.layout.root);
  auto stack = cache::Cabinet::open_stack({}, false, {root.layout.root});
  REQUIRE(stack);
  CHECK(cache::Maintenance(stack->cabinet).coverage()->size() == 1);
  CHECK(cache::Maintenance(stack->cabinet).record_coverage(other_subject, {}).error().code ==
        ErrorCode::cache_unusable);
  cache::Maintenance(stack->cabinet).drop_coverage(cache::Maintenance(stack->cabinet).coverage().value());
  CHECK(cache::Maintenance(stack->cabinet).coverage()->size() == 1);
  CHECK(test::snapshot(root.layout.root) == before);
}

TEST_CASE("reading coverage from a busy index is an error, and the coverage is present afterwards") {
  test::Filled root(1, {.index_patience = std::chrono::milliseconds(50)});
  REQUIRE(root.maintenance().record_coverage(subject, keys_of(1)));
  const auto read = root.maintenance().coverage().value();
  {
    const test::IndexHolder holder(root.layout.index());
    CHECK(root.maintenance().coverage().error().code == ErrorCode::io);
    CHECK(root.maintenance().record_coverage(other_subject, {}).error().code == ErrorCode::io);
    root.maintenance().drop_coverage(read);
  }
  CHECK(root.maintenance().coverage()->size() == 1);
}

TEST_CASE("statistics list the coverage records whose entries are all present, in the root or in a layer") {
  test::Filled layer(3);
  test::Filled root(3);
  REQUIRE(root.maintenance().record_coverage(subject, keys_of(2)));
  REQUIRE(root.maintenance().record_coverage(other_subject, keys_of(3)));
  REQUIRE(root.maintenance().remove(test::key_of(2)));
  REQUIRE(root.maintenance().stats()->coverage.size() == 1);
  CHECK(root.maintenance().stats()->coverage.front().subject == subject);
  REQUIRE(root.add_layer(layer.layout.root));
  CHECK(root.maintenance().stats()->coverage.size() == 2);
  REQUIRE(root.maintenance().remove(test::key_of(2)).error().code == ErrorCode::not_found);
  fs::remove(layer.layout.object(test::key_of(2)));
  CHECK(root.maintenance().stats()->coverage.size() == 1);
}
