// Symbolic links inside a root: no call follows them out of the root.
#include "catch.hpp"
#include "unit/cache/set_clock.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
using cache::Cabinet;
namespace fs = std::filesystem;

namespace {

constexpr int linked = 0;

// A root of one entry, and beside it a folder with a file that is not the cabinet's.
struct Planted : test::Filled {
  Planted() : Filled(1) {
    fs::create_directory(outside);
    test::write_file(outside / "precious", "data");
  }
  // Moves a part of the root out of it, and puts a link in its place.
  void plant(const fs::path& part, const fs::path& target) const {
    if (fs::exists(fs::symlink_status(part))) fs::rename(part, folder / "moved");
    fs::create_symlink(target, part);
  }
  fs::path outside = folder / "outside";
};

// Puts something into each part that a later call would evict, remove, move to quarantine or unpin.
void fill_all_parts(Cabinet& cabinet, const cache::Layout& layout) {
  REQUIRE(cache::Maintenance(cabinet).pin(test::key_of(1)));
  REQUIRE(cabinet.claim(test::key_of(0)).mine());
  test::write_file(layout.tmp() / "leftover", "x");
  fs::create_directories(layout.tmp() / "folder/inside");
  fs::create_directories(layout.quarantine() / "folder/inside");
  test::write_file(layout.quarantine() / "folder/inside/file", "x");
  test::write_file(layout.quarantine() / "file", "x");
  test::write_file(layout.objects() / "stranger", "x");
  fs::create_directories(layout.in_use());
  test::write_file(layout.in_use() / "of-a-dead-process", "x");
  test::write_file(layout.object(test::key_of(1)), "damaged");
}

// Calls every function that creates, moves or removes something. Errors are ignored.
void change_all_parts(Cabinet& cabinet) {
  static_cast<void>(cabinet.claim(test::key_of(0)));
  static_cast<void>(cabinet.holds(test::key_of(1)));
  static_cast<void>(cabinet.publish(test::key_of(1), test::object_of(1)));
  static_cast<void>(cabinet.publish(test::key_of(2), test::object_of(2)));
  cabinet.record_hits({test::key_of(0)});
  cabinet.lease()->add({test::key_of(0)});
  static_cast<void>(cache::Maintenance(cabinet).record_coverage("{}", {test::key_of(0)}));
  static_cast<void>(cache::Maintenance(cabinet).verify(true));
  static_cast<void>(cache::Maintenance(cabinet).pin(test::key_of(0)));
  static_cast<void>(cache::Maintenance(cabinet).unpin(test::key_of(0)));
  static_cast<void>(cache::Maintenance(cabinet).unpin(test::key_of(1)));
  static_cast<void>(cache::Maintenance(cabinet).collect({.bytes = 1}, false));
  static_cast<void>(cache::Maintenance(cabinet).remove(test::key_of(1)));
}

bool stores_and_finds(Cabinet& cabinet) {
  if (!cabinet.publish(test::key_of(linked), test::object_of(linked))) return false;
  const auto object = cabinet.find(test::key_of(linked), test::record_of(linked));
  return object && test::equal(*object, test::object_of(linked));
}

}  // namespace

TEST_CASE("a root with a link in place of one of its parts is refused by name, and the link's target is unchanged") {
  for (const char* part : {"FORMAT", "objects", "tmp", "quarantine", "locks"}) {
    INFO(part);
    const Planted root;
    root.plant(root.layout.root / part, root.outside);
    const auto before = test::snapshot(root.folder.path());
    const auto opened = Cabinet::open(root.layout.root, true);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == ErrorCode::cache_unusable);
    CHECK(opened.error().message.find(part) != std::string::npos);
    CHECK(test::snapshot(root.folder.path()) == before);
  }
}

TEST_CASE("if a part becomes a link after the root was opened, nothing in the link's target is changed") {
  for (const char* part : {"", "objects", "tmp", "quarantine", "locks", "pins", "in_use"}) {
    INFO(part);
    test::SetClock clock;
    clock.now = util::system_clock().seconds() + 365 * 86'400;  // all leftovers are old
    const test::Filled root(2, {.clock = clock});
    Cabinet cabinet = Cabinet::open(root.layout.root, false, {.clock = clock}).value();
    fill_all_parts(cabinet, root.layout);
    const fs::path place = *part == '\0' ? root.layout.root : root.layout.root / part;
    fs::create_directory(root.folder / "outside");
    fs::rename(place, root.folder / "outside/part");
    fs::create_directory_symlink(root.folder / "outside/part", place);
    const auto before = test::snapshot(root.folder / "outside");
    change_all_parts(cabinet);
    CHECK(test::snapshot(root.folder / "outside") == before);
  }
}

TEST_CASE("a writer moves a link in place of an object's folder to quarantine and creates the folder") {
  Planted root;
  const fs::path shard = root.layout.object(test::key_of(linked)).parent_path();
  root.plant(shard, root.outside);
  const auto before = test::snapshot(root.outside);
  CHECK(root.maintenance().verify(false)->damaged == std::vector<std::string>{shard.filename().native()});
  CHECK(stores_and_finds(root.cabinet));
  CHECK(fs::is_directory(fs::symlink_status(shard)));
  CHECK(test::snapshot(root.outside) == before);
  CHECK(root.maintenance().verify(true)->damaged.empty());
}

TEST_CASE("a damaged object behind a link in place of its folder is not moved") {
  Planted root;
  const fs::path object = root.layout.object(test::key_of(linked));
  test::write_file(root.outside / object.filename(), "damaged");
  root.plant(object.parent_path(), root.outside);
  const auto before = test::snapshot(root.outside);
  CHECK_FALSE(root.cabinet.find(test::key_of(linked), test::record_of(linked)));
  static_cast<void>(root.maintenance().remove(test::key_of(linked)));  // removes only the row
  CHECK(test::snapshot(root.outside) == before);
}

TEST_CASE("links in place of single files are moved to quarantine, and their targets are unchanged") {
  for (const char* part : {"index.db", "index.db-journal", "CACHEDIR.TAG"}) {
    INFO(part);
    Planted root;
    root.plant(root.layout.root / part, root.outside / "precious");
    fs::remove_all(root.folder / "moved");
    auto cabinet = Cabinet::open(root.layout.root, false);
    REQUIRE(cabinet);
    cabinet->record_hits({test::key_of(linked)});
    CHECK(test::entries_of(*cabinet)->size() == 1);
    CHECK(cabinet->publish(test::key_of(1), test::object_of(1)));
    CHECK(cache::Maintenance(*cabinet).verify(true));
    CHECK(test::contents(root.outside / "precious") == "data");
  }
}

TEST_CASE("links and folders in tmp are leftovers, and a repair removes them without following links") {
  Planted root;
  fs::create_symlink(root.outside / "precious", root.layout.tmp() / "link");
  fs::create_symlink(root.outside, root.layout.tmp() / "folder-link");
  fs::create_directories(root.layout.tmp() / "folder/inside");
  CHECK(root.maintenance().verify(true)->leftovers == 3);
  CHECK(root.maintenance().verify(false)->leftovers == 0);
  CHECK(test::contents(root.outside / "precious") == "data");
}
