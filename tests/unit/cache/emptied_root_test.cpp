// A root that is emptied or replaced while it is open: after that no call may leave a folder that later calls refuse as
// a cabinet.
#include <functional>

#include "cache/bundle_transfer.hpp"
#include "catch.hpp"
#include "unit/cache/bundle_builder.hpp"
#include "unit/cache/set_clock.hpp"

using namespace cubinet;
using cache::Cabinet;
namespace fs = std::filesystem;

namespace {

struct Use {
  const char* name;
  std::function<void(Cabinet&)> work;
};

// Calls every function that creates, moves or changes a file in a root.
std::vector<Use> uses() {
  return {{"publish", [](Cabinet& c) { CHECK_FALSE(c.publish(test::key_of(5), test::object_of(5))); }},
          {"hits", [](Cabinet& c) { c.record_hits({test::key_of(0)}); }},
          {"misses", [](Cabinet& c) { c.record_misses({test::key_of(5)}); }},
          {"claim", [](Cabinet& c) { CHECK_FALSE(c.claim(test::key_of(5)).taken()); }},
          {"pin", [](Cabinet& c) { CHECK_FALSE(cache::Maintenance(c).pin(test::key_of(0))); }},
          {"unpin", [](Cabinet& c) { CHECK_FALSE(cache::Maintenance(c).unpin(test::key_of(0))); }},
          {"lease", [](Cabinet& c) { c.lease()->add({test::key_of(0)}); }},
          {"look-up", [](Cabinet& c) { CHECK_FALSE(c.holds(test::key_of(0))); }},
          {"coverage", [](Cabinet& c) { CHECK_FALSE(cache::Maintenance(c).record_coverage("{}", {test::key_of(0)})); }},
          {"read coverage", [](Cabinet& c) { static_cast<void>(cache::Maintenance(c).coverage()); }},
          {"drop coverage",
           [](Cabinet& c) {
             cache::Maintenance(c).drop_coverage({{"{}", {test::key_of(0)}, 1}});
           }},
          {"list", [](Cabinet& c) { static_cast<void>(test::entries_of(c)); }},
          {"stats", [](Cabinet& c) { static_cast<void>(cache::Maintenance(c).stats()); }},
          {"repair", [](Cabinet& c) { static_cast<void>(cache::Maintenance(c).verify(true)); }},
          {"collect", [](Cabinet& c) { static_cast<void>(cache::Maintenance(c).collect({}, false)); }},
          {"remove", [](Cabinet& c) { static_cast<void>(cache::Maintenance(c).remove(test::key_of(0))); }}};
}

void empty(const fs::path& folder) {
  for (const auto& item : fs::directory_iterator(folder)) fs::remove_all(item.path());
}

}  // namespace

TEST_CASE("nothing is created in a root that is emptied while it is open, and a later open completes it") {
  for (const Use& use : uses()) {
    INFO(use.name);
    test::Filled root(1);
    {
      auto cabinet = Cabinet::open(root.layout.root, false).value();
      cabinet.record_hits({test::key_of(0)});
      empty(root.layout.root);
      use.work(cabinet);
      CHECK(fs::is_empty(root.layout.root));
    }  // the destructor does not write the pending counters
    CHECK(fs::is_empty(root.layout.root));
    auto again = Cabinet::open(root.layout.root, true);
    REQUIRE(again);
    CHECK(again->publish(test::key_of(1), test::object_of(1)));
  }
}

TEST_CASE("nothing is created in place of a root that is removed while it is open") {
  for (const Use& use : uses()) {
    INFO(use.name);
    test::Filled root(1);
    auto cabinet = Cabinet::open(root.layout.root, false).value();
    fs::remove_all(root.layout.root);
    use.work(cabinet);
    CHECK_FALSE(fs::exists(root.layout.root));
  }
}

TEST_CASE("an import into a root that is emptied meanwhile is an error that says so, and leaves nothing") {
  test::Filled root(0);
  test::Filled shipped(2);
  const fs::path file = shipped.folder / "bundle";
  REQUIRE(cache::export_bundle(shipped.maintenance(), {test::key_of(0)}, file, std::nullopt));
  auto cabinet = Cabinet::open(root.layout.root, false).value();
  empty(root.layout.root);
  const auto published = cabinet.publish(test::key_of(0), test::object_of(0));
  REQUIRE_FALSE(published);
  CHECK(published.error().code == ErrorCode::no_room);
  CHECK(cache::import_bundle(cache::Bundle::open(file, std::nullopt).value(), root.layout.root, {})->imported == 1);
}

TEST_CASE("a folder that holds only what a writer leaves in an emptied root counts as empty and becomes a root") {
  for (const char* part : {"objects/ab", "locks", "tmp", "quarantine", "pins", "in_use"}) {
    INFO(part);
    const test::TempFolder folder;
    fs::create_directories(folder / "root" / part);
    CHECK(Cabinet::open(folder / "root", false).error().code == ErrorCode::not_found);
    auto cabinet = Cabinet::open(folder / "root", true);
    REQUIRE(cabinet);
    CHECK(cabinet->publish(test::key_of(0), test::object_of(0)));
  }
  for (const char* name : {"index.db", "index.db-journal", "CACHEDIR.TAG", "locks/00", "locks/collect"}) {
    INFO(name);
    const test::TempFolder folder;
    fs::create_directories((folder / "root" / name).parent_path());
    test::write_file(folder / "root" / name, "");
    auto cabinet = Cabinet::open(folder / "root", true);
    REQUIRE(cabinet);
    CHECK(cabinet->publish(test::key_of(0), test::object_of(0)));
    CHECK(test::entries_of(*cabinet)->size() == 1);
  }
}

TEST_CASE("a folder without FORMAT that holds files is refused, whatever its folders are called") {
  for (const char* name : {"objects/ab/data", "tmp/draft", "pins/a", "quarantine/a", "other"}) {
    INFO(name);
    const test::TempFolder folder;
    fs::create_directories((folder / "root" / name).parent_path());
    test::write_file(folder / "root" / name, "precious");
    const auto before = test::snapshot(folder.path());
    CHECK(Cabinet::open(folder / "root", true).error().code == ErrorCode::cache_unusable);
    CHECK(test::snapshot(folder.path()) == before);
  }
}

TEST_CASE("a root that was replaced by one of another format is no longer written") {
  test::Filled root(1);
  test::write_file(root.layout.format(), "cubinet cabinet 2\n");
  const auto published = root.cabinet.publish(test::key_of(1), test::object_of(1));
  REQUIRE_FALSE(published);
  CHECK(published.error().code == ErrorCode::cache_unusable);
  CHECK(test::contents(root.layout.format()) == "cubinet cabinet 2\n");
}

TEST_CASE("a new volume with lost+found counts as an empty folder, and lost+found stays") {
  const test::TempFolder folder;
  fs::create_directories(folder / "volume/lost+found");
  auto cabinet = Cabinet::open(folder / "volume", true);
  REQUIRE(cabinet);
  CHECK(cabinet->publish(test::key_of(0), test::object_of(0)));
  CHECK(cache::Maintenance(*cabinet).verify(true)->damaged.empty());
  CHECK(fs::is_directory(folder / "volume/lost+found"));
}
