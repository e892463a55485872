#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>

#include <random>

#include "catch.hpp"
#include "unit/cache/set_clock.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

// Entry 0 is damaged. Entry 1 is sound. Entry 2 has an object and no row, entry 3 a row and no object. There are a
// leftover in tmp/ and a file in objects/ that is not an entry.
void spoil(test::Filled& root) {
  fs::copy(root.layout.object(test::key_of(2)), root.folder / "two");
  REQUIRE(root.maintenance().remove(test::key_of(2)));
  fs::create_directories(root.layout.object(test::key_of(2)).parent_path());
  fs::copy(root.folder / "two", root.layout.object(test::key_of(2)));
  std::string bytes = test::contents(root.layout.object(test::key_of(0)));
  bytes[10] = static_cast<char>(bytes[10] ^ 1);
  test::write_file(root.layout.object(test::key_of(0)), bytes);
  fs::remove(root.layout.object(test::key_of(3)));
  test::write_file(root.layout.tmp() / "leftover", "half");
  test::write_file(root.layout.objects() / "stranger", "?");
}

// Flips a bit, truncates, appends a byte, writes zeros or random bytes, or writes another entry's object.
void damage(std::mt19937& random, const fs::path& path, const fs::path& other) {
  std::string bytes = test::contents(path);
  const std::size_t at = random() % bytes.size();
  switch (random() % 6) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8)));
      break;
    case 1:
      bytes.resize(at);
      break;
    case 2:
      bytes += 'x';
      break;
    case 3:
      bytes.assign(bytes.size(), '\0');
      break;
    case 4:
      for (char& byte : bytes) byte = static_cast<char>(random());
      break;
    default:
      // Whether or not it is damaged, it is not an object of this key.
      bytes = test::contents(other);
  }
  test::write_file(path, bytes);
}

void is_clean(const cache::VerifyReport& report, std::int64_t checked) {
  CHECK(report.checked == checked);
  CHECK(report.damaged.empty());
  CHECK(report.orphans == 0);
  CHECK(report.missing == 0);
  CHECK(report.leftovers == 0);
  CHECK(report.index_problem.empty());
}

}  // namespace

TEST_CASE("an index without contents is not damage") {
  test::Filled root(0);
  std::ofstream(root.layout.index()).close();
  const auto empty = root.maintenance().verify(false);
  REQUIRE(empty);
  CHECK(empty->index_problem.empty());
  REQUIRE(root.cabinet.publish(test::key_of(0), test::object_of(0)));
  CHECK(root.maintenance().verify(false)->orphans == 0);
  CHECK(fs::is_empty(root.layout.quarantine()));
}

TEST_CASE("verifying a sound root reports no problem and changes no inode and no time") {
  test::Filled root(4);
  const auto before = test::snapshot(root.folder.path());
  is_clean(root.maintenance().verify(false).value(), 4);
  CHECK(test::snapshot(root.folder.path()) == before);
}

TEST_CASE("verify reports every problem, and without repair changes nothing") {
  test::Filled root(4);
  spoil(root);
  const auto before = test::snapshot(root.folder.path());
  const auto report = root.maintenance().verify(false);
  REQUIRE(report);
  CHECK(report->checked == 3);
  CHECK(report->damaged == std::vector<std::string>{test::key_of(0).hex(), "stranger"});
  CHECK(report->orphans == 1);
  CHECK(report->missing == 1);
  CHECK(report->leftovers == 1);
  CHECK(test::snapshot(root.folder.path()) == before);
}

TEST_CASE("a repair corrects every problem and reports what it found") {
  test::Filled root(4);
  spoil(root);
  const auto report = root.maintenance().verify(true);
  REQUIRE(report);
  CHECK(report->damaged.size() == 2);
  CHECK(report->orphans == 1);
  CHECK(report->missing == 1);
  CHECK(report->leftovers == 1);
  is_clean(root.maintenance().verify(false).value(), 2);
  CHECK(test::entries_of(root.cabinet)->size() == 2);
  CHECK(fs::is_empty(root.layout.tmp()));
  CHECK(test::count_files(root.layout.quarantine()) == 2);
}

TEST_CASE("verify reports exactly the damaged objects, for random damage to random objects") {
  std::mt19937 random(11);
  constexpr int count = 24;
  for (int round = 0; round < 20; ++round) {
    test::Filled root(count, {}, test::memory_place());
    std::vector<std::string> expected;
    for (int number = 0; number < count; ++number) {
      if (random() % 3 != 0) continue;
      damage(random, root.layout.object(test::key_of(number)), root.layout.object(test::key_of((number + 1) % count)));
      expected.push_back(test::key_of(number).hex());
    }
    std::sort(expected.begin(), expected.end());
    INFO("round " << round);
    CHECK(root.maintenance().verify(false)->damaged == expected);
    CHECK(root.maintenance().verify(true)->damaged == expected);
    is_clean(root.maintenance().verify(false).value(), count - static_cast<int>(expected.size()));
    CHECK(root.maintenance().stats()->quarantined == static_cast<std::int64_t>(expected.size()));
    for (int number = 0; number < count; ++number) {
      const bool whole = !std::binary_search(expected.begin(), expected.end(), test::key_of(number).hex());
      CHECK(root.cabinet.find(test::key_of(number), test::record_of(number)).has_value() == whole);
    }
  }
}

TEST_CASE("a repair that cannot correct the index still reports what it found and moved") {
  test::Filled root(2);
  test::write_file(root.layout.object(test::key_of(0)), "damaged");
  test::write_file(root.layout.index(), "noise");
  fs::remove_all(root.layout.locks());
  test::write_file(root.layout.locks(), "no folder");  // prevents a replacement of the index
  const auto report = root.maintenance().verify(true);
  REQUIRE(report);
  CHECK(report->damaged == std::vector<std::string>{test::key_of(0).hex()});
  CHECK(report->not_moved == 0);
  CHECK(report->index_not_repaired.find("locks") != std::string::npos);
  CHECK(root.maintenance().stats()->quarantined == 1);
  fs::remove(root.layout.locks());
  fs::create_directory(root.layout.locks());
  CHECK(root.maintenance().verify(true)->index_not_repaired.empty());
}

TEST_CASE("a read-only listing and a dry run do not change an index that needs a repair") {
  for (const char* how : {"noise", "future", "gone", "rows missing"}) {
    INFO(how);
    test::Filled root(3);
    const std::string_view damage = how;
    if (damage == "noise") test::write_file(root.layout.index(), "noise");
    if (damage == "future") test::sql(root.layout, "PRAGMA user_version = 999");
    if (damage == "gone") fs::remove(root.layout.index());
    if (damage == "rows missing") test::sql(root.layout, "DELETE FROM entries");
    const auto before = test::snapshot(root.folder.path());
    const auto survey = root.maintenance().survey_unchanged();
    REQUIRE(survey);
    CHECK(survey->entries.size() == 3);
    const bool readable = damage == "gone" || damage == "rows missing";
    CHECK(survey->index_problem.empty() == readable);
    CHECK(root.maintenance().collect({.bytes = 1}, true).has_value() == readable);
    CHECK(test::snapshot(root.folder.path()) == before);
  }
}

TEST_CASE("a repair reports a damaged file that it cannot move to quarantine, and the next verify reports it again") {
  struct NoRenames final : util::SystemCalls {
    int rename(const std::string&, const std::string&) override {
      errno = EIO;
      return -1;
    }
  };
  test::Filled root(4);
  spoil(root);
  NoRenames calls;
  auto cabinet = cache::Cabinet::open(root.layout.root, false, {util::system_clock(), calls}).value();
  const auto report = cache::Maintenance(cabinet).verify(true);
  REQUIRE(report);
  CHECK(report->damaged.size() == 2);
  CHECK(report->not_moved == 2);
  CHECK(cache::Maintenance(cabinet).verify(false)->damaged.size() == 2);
  CHECK(cache::Maintenance(cabinet).verify(false)->not_moved == 0);
  CHECK(root.maintenance().verify(true)->not_moved == 0);
  is_clean(root.maintenance().verify(false).value(), 2);
}

TEST_CASE("without repair a missing or damaged index is reported and unchanged") {
  test::Filled root(2);
  fs::remove(root.layout.index());
  auto before = test::snapshot(root.folder.path());
  CHECK(root.maintenance().verify(false)->orphans == 2);
  CHECK_FALSE(root.maintenance().verify(false)->index_problem.empty());
  CHECK(test::snapshot(root.folder.path()) == before);
  test::write_file(root.layout.index(), "not a database");
  before = test::snapshot(root.folder.path());
  CHECK_FALSE(root.maintenance().verify(false)->index_problem.empty());
  CHECK(test::snapshot(root.folder.path()) == before);
  REQUIRE(root.maintenance().verify(true));
  is_clean(root.maintenance().verify(false).value(), 2);
}

TEST_CASE("a row that differs from its object is reported and repaired") {
  test::Filled root(2);
  auto other = test::object_of(0);
  other.facts.details.set("registers", 99);
  {
    test::Filled elsewhere(0);
    REQUIRE(elsewhere.cabinet.publish(test::key_of(0), other));
    fs::copy(elsewhere.layout.object(test::key_of(0)), root.layout.object(test::key_of(0)),
             fs::copy_options::overwrite_existing);
  }
  CHECK(root.maintenance().verify(true)->orphans == 1);
  is_clean(root.maintenance().verify(false).value(), 2);
  CHECK(test::entries_of(root.cabinet, test::key_of(0).hex())->front().facts.details.number("registers") == 99);
}

TEST_CASE("a temporary file of a running writer is not a leftover") {
  test::Filled root(0);
  const auto path = root.layout.tmp() / "being-written";
  test::write_file(path, "half");
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = test::start_child([&] {
    const int file = ::open(path.c_str(), O_WRONLY);
    if (::flock(file, LOCK_EX) != 0 || ::write(ready[1], "x", 1) != 1) return 1;
    while (true) ::pause();
  });
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  CHECK(root.maintenance().verify(true)->leftovers == 0);
  CHECK(fs::exists(path));
  ::kill(child, SIGKILL);
  test::wait_for(child);
  CHECK(root.maintenance().verify(true)->leftovers == 1);
  CHECK_FALSE(fs::exists(path));
  ::close(ready[0]);
  ::close(ready[1]);
}
