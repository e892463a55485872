// The index can be rebuilt: after any damage to it the listing is the same.
#include "cache/index.hpp"

#include <cstdlib>

#include "cache/sqlite.hpp"
#include "catch.hpp"
#include "unit/cache/set_clock.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
using test::number;
using test::sql;
namespace fs = std::filesystem;

namespace {

constexpr int indexed = 12;

// Lists, damages the index, and expects the same listing and a sound index.
template <class Spoil>
void comes_back_after(test::Filled& root, Spoil spoil) {
  const auto before = test::entries_of(root.cabinet).value();
  REQUIRE(before.size() == indexed);
  spoil(root.layout);
  CHECK(test::equal(test::entries_of(root.cabinet).value(), before));
  CHECK(number(root.layout, "SELECT count(*) FROM entries") == indexed);
  CHECK(number(root.layout, "PRAGMA user_version") == cache::index_schema_version);
  const auto report = root.maintenance().verify(false);
  CHECK(report->index_problem.empty());
  CHECK(report->orphans == 0);
  CHECK(report->missing == 0);
  CHECK(root.maintenance().stats()->quarantined == 0);
}

}  // namespace

TEST_CASE("the listing is the same after the index is deleted") {
  test::Filled root(indexed);
  comes_back_after(root, [](const cache::Layout& layout) { fs::remove(layout.index()); });
}

TEST_CASE("impossible hit counts are read as 0, so that the sum over all entries does not overflow") {
  test::Filled root(indexed);
  root.cabinet.record_hits({test::key_of(0)});
  sql(root.layout, "UPDATE entries SET hits = 9223372036854775807, last_used = -1 WHERE hits = 0");
  CHECK(root.maintenance().stats()->hits == 1);
  const auto listed = test::entries_of(root.cabinet).value();
  for (const auto& entry : listed) CHECK(entry.last_used >= 0);
}

TEST_CASE("the listing is the same after the index is emptied, truncated or overwritten") {
  test::Filled root(indexed);
  comes_back_after(root, [](const cache::Layout& layout) { test::write_file(layout.index(), ""); });
  comes_back_after(root, [](const cache::Layout& layout) { test::write_file(layout.index(), "not a database"); });
  comes_back_after(root,
                   [](const cache::Layout& layout) { test::write_file(layout.index(), std::string(65536, '\xa5')); });
  comes_back_after(
      root, [](const cache::Layout& layout) { fs::resize_file(layout.index(), fs::file_size(layout.index()) / 2); });
  comes_back_after(root, [](const cache::Layout& layout) { fs::resize_file(layout.index(), 4096); });
  comes_back_after(root, [](const cache::Layout& layout) { fs::resize_file(layout.index(), 100); });
}

TEST_CASE("the listing is the same after random bytes anywhere in the index") {
  test::Filled root(indexed);
  std::srand(1);
  for (int round = 0; round < 40; ++round) {
    INFO("round " << round);
    comes_back_after(root, [&](const cache::Layout& layout) {
      std::string bytes = test::contents(layout.index());
      const auto at = static_cast<std::size_t>(std::rand()) % bytes.size();
      for (std::size_t i = at; i < std::min(bytes.size(), at + 64); ++i) bytes[i] = static_cast<char>(std::rand());
      test::write_file(layout.index(), bytes);
    });
  }
}

TEST_CASE("the listing is the same after the index is replaced by something else") {
  test::Filled root(indexed);
  comes_back_after(root, [](const cache::Layout& layout) {
    fs::remove(layout.index());
    fs::create_directories(layout.index() / "inside");
  });
  comes_back_after(root, [](const cache::Layout& layout) {
    fs::rename(layout.index(), layout.root / "moved.db");
    fs::create_symlink(layout.root / "moved.db", layout.index());
  });
  comes_back_after(root, [](const cache::Layout& layout) {
    fs::remove(layout.index_journal());
    fs::create_directory(layout.index_journal());
  });
  comes_back_after(root, [](const cache::Layout& layout) { test::write_file(layout.index_journal(), "noise"); });
}

TEST_CASE("the listing is the same after the index has another schema or schema version") {
  test::Filled root(indexed);
  comes_back_after(root, [](const cache::Layout& layout) { sql(layout, "PRAGMA user_version = 1734570"); });
  comes_back_after(root, [](const cache::Layout& layout) { sql(layout, "PRAGMA user_version = 0"); });
  comes_back_after(root, [](const cache::Layout& layout) { sql(layout, "DROP TABLE entries"); });
  comes_back_after(root,
                   [](const cache::Layout& layout) { sql(layout, "ALTER TABLE entries RENAME COLUMN hits TO hitz"); });
  comes_back_after(root, [](const cache::Layout& layout) {
    sql(layout, "DROP TABLE entries; CREATE TABLE entries (key TEXT, other TEXT)");
  });
}

TEST_CASE("the listing is the same with an index of schema version 1, which has no configurations") {
  test::Filled root(indexed);
  comes_back_after(root, [](const cache::Layout& layout) {
    sql(layout, "ALTER TABLE entries DROP COLUMN config; PRAGMA user_version = 1");
  });
  CHECK(test::entries_of(root.cabinet)->front().facts.details.text("config") == "t64x128u8s6c1b8");
}

TEST_CASE("rows that are missing, wrong or without an object are corrected") {
  test::Filled root(indexed);
  comes_back_after(root, [](const cache::Layout& layout) { sql(layout, "DELETE FROM entries WHERE n % 2 = 0"); });
  comes_back_after(root, [](const cache::Layout& layout) { sql(layout, "UPDATE entries SET registers = 1"); });
  comes_back_after(root, [](const cache::Layout& layout) { sql(layout, "UPDATE entries SET config = 'x'"); });
  comes_back_after(
      root, [](const cache::Layout& layout) { sql(layout, "UPDATE entries SET record = 'x', kernel_names = '{'"); });
  comes_back_after(root, [](const cache::Layout& layout) {
    sql(layout, "UPDATE entries SET key = '" + std::string(64, '0') + "' WHERE key = (SELECT min(key) FROM entries)");
  });
  comes_back_after(
      root, [](const cache::Layout& layout) { sql(layout, "UPDATE entries SET key = 'no key' WHERE n = 4096"); });
}

TEST_CASE("correcting rows keeps the hits") {
  test::Filled root(2);
  root.cabinet.record_hits({test::key_of(0)});
  sql(root.layout, "UPDATE entries SET registers = 1");
  REQUIRE(test::entries_of(root.cabinet));
  CHECK(test::entries_of(root.cabinet, test::key_of(0).hex())->front().hits == 1);
  CHECK(test::entries_of(root.cabinet, test::key_of(0).hex())->front().facts.details.number("registers") == 168);
}

TEST_CASE("publishing and recording hits succeed with a damaged index") {
  test::Filled root(1);
  test::write_file(root.layout.index(), "not a database");
  CHECK(root.cabinet.publish(test::key_of(1), test::object_of(1)));
  CHECK(test::entries_of(root.cabinet)->size() == 2);
  test::write_file(root.layout.index(), "not a database");
  root.cabinet.record_hits({test::key_of(1)});
  CHECK(root.maintenance().stats()->hits == 1);
}

TEST_CASE("an index in write-ahead-log mode is converted back and keeps its contents") {
  test::Filled root(1);
  sql(root.layout, "PRAGMA journal_mode = WAL; UPDATE entries SET hits = 5");
  CHECK(root.maintenance().stats()->hits == 5);
  auto database = cache::Database::open(root.layout.index(), cache::Database::Mode::read_only, std::chrono::seconds(1));
  CHECK(database->text("PRAGMA journal_mode").value() != "wal");
  CHECK_FALSE(fs::exists(root.layout.index().native() + "-wal"));
}

TEST_CASE("a call waits for an index that another connection holds") {
  test::Filled root(1);
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = test::start_child([&] {
    auto database =
        cache::Database::open(root.layout.index(), cache::Database::Mode::read_write, std::chrono::seconds(5));
    if (!database->run("BEGIN EXCLUSIVE")) return 1;
    if (::write(ready[1], "x", 1) != 1) return 2;
    ::usleep(300'000);
    return database->run("COMMIT") ? 0 : 3;
  });
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  root.cabinet.record_hits({test::key_of(0)});
  CHECK(test::wait_for(child) == 0);
  CHECK(root.maintenance().stats()->hits == 1);
  ::close(ready[0]);
  ::close(ready[1]);
}
