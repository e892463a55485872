// Power is lost at any moment, also after a writer was killed. The index is not checked, because it is rebuilt from the
// objects.
#include <random>
#include <set>

#include "cache/kept_entries.hpp"
#include "catch.hpp"
#include "unit/cache/support.hpp"
#include "unit/util/losing_disk.hpp"

using namespace cubinet;
using cache::Cabinet;
namespace fs = std::filesystem;

namespace {

constexpr int written_keys = 4;

// A disk with writers that work on it until power is lost.
class World {
 public:
  explicit World(unsigned seed) : disk_(before_.path()), random_(seed) {}

  // A writer that makes up to five changes, and may be killed in the middle of one.
  void write() {
    disk_.dies_at = disk_.calls + static_cast<int>(random_() % 150);
    auto cabinet = Cabinet::open(before_ / "a/root", true, {.calls = disk_});
    for (int step = 0; cabinet && step < 5 && !disk_.dead(); ++step) change(*cabinet);
    disk_.dies_at = -1;
  }

  // Loses power. Returns the first problem of the remaining root; empty if there is none.
  std::string after_the_loss() {
    disk_.lose_power(random_, after_.path());
    auto cabinet = Cabinet::open(after_ / "a/root", true);
    if (!cabinet) return cabinet.error().message;
    for (int number = 0; number < written_keys; ++number) {
      const auto object = cabinet->find(test::key_of(number), test::record_of(number));
      if (object && !test::equal(*object, test::object_of(number))) return "wrong bytes were returned";
      if (!object && stored_.contains(number)) return "an entry that was stored is gone";
    }
    const auto pins = cache::read_pins(cache::Layout{after_ / "a/root"});
    for (const int number : pinned_) {
      if (!pins || !pins->contains(test::key_of(number))) return "a pin is gone";
    }
    return unclean(*cabinet);
  }

  [[nodiscard]] test::LosingDisk& disk() { return disk_; }

 private:
  void change(Cabinet& cabinet) {
    const int number = static_cast<int>(random_() % written_keys);
    const cache::Key key = test::key_of(number);
    const fs::path object = cache::Layout{cabinet.root()}.object(key);
    switch (random_() % 9) {
      case 0:
        stored_.erase(number);
        pinned_.erase(number);
        static_cast<void>(cache::Maintenance(cabinet).remove(key));
        break;
      case 1:
        if (!fs::exists(object)) break;
        stored_.erase(number);
        disk_.spoil(object, "damaged");
        static_cast<void>(cabinet.find(key, test::record_of(number)));
        break;
      case 2:
        if (cache::Maintenance(cabinet).pin(key)) pinned_.insert(number);
        break;
      case 3:
        pinned_.erase(number);
        static_cast<void>(cache::Maintenance(cabinet).unpin(key));
        break;
      case 4:
        static_cast<void>(cache::Maintenance(cabinet).collect({.entries = 2}, false));
        std::erase_if(stored_, [&](int one) {
          return !pinned_.contains(one) && !fs::exists(cache::Layout{cabinet.root()}.object(test::key_of(one)));
        });
        break;
      default:
        if (cabinet.publish(key, test::object_of(number))) stored_.insert(number);
    }
  }

  static std::string unclean(Cabinet& cabinet) {
    if (!cache::Maintenance(cabinet).verify(true)) return "it cannot be repaired";
    const auto report = cache::Maintenance(cabinet).verify(false);
    const bool clean = report && report->damaged.empty() && report->orphans == 0 && report->missing == 0 &&
                       report->leftovers == 0 && report->index_problem.empty();
    return clean ? "" : "a repair leaves something to repair";
  }

  test::TempFolder before_{test::memory_place()};
  test::TempFolder after_{test::memory_place()};
  test::LosingDisk disk_;
  std::mt19937 random_;
  std::set<int> stored_;
  std::set<int> pinned_;
};

// Runs one to three writers, one after the other, and loses power. Returns the first problem; empty if there is none.
std::string lose_power(unsigned seed, bool forgets_files = false, bool forgets_folders = false) {
  World world(seed);
  world.disk().forgets_files = forgets_files;
  world.disk().forgets_folders = forgets_folders;
  for (unsigned writer = 0; writer <= seed % 3; ++writer) world.write();
  return world.after_the_loss();
}

}  // namespace

TEST_CASE("after a loss of power at any moment all stored entries are present and sound, and the root is clean") {
  for (unsigned seed = 0; seed < (test::instrumented ? 200 : 1000); ++seed) {
    const std::string wrong = lose_power(seed);
    if (!wrong.empty()) FAIL("seed " << seed << ": " << wrong);
  }
}

TEST_CASE("the test detects files or folders that are not synced before a loss of power") {
  const auto noticed = [](bool forgets_files, bool forgets_folders) {
    for (unsigned seed = 0; seed < 200; ++seed) {
      if (lose_power(seed, forgets_files, forgets_folders) == "an entry that was stored is gone") return true;
    }
    return false;
  };
  CHECK(noticed(true, false));
  CHECK(noticed(false, true));
}

TEST_CASE("a confirmed pin survives a loss of power, even if an earlier process was killed while it set that pin") {
  for (int dies_at = 0; dies_at < 12; ++dies_at) {
    const test::TempFolder before(test::memory_place());
    test::LosingDisk disk(before.path());
    auto cabinet = Cabinet::open(before / "root", true, {.calls = disk});
    REQUIRE(cabinet);
    REQUIRE(cabinet->publish(test::key_of(0), test::object_of(0)));
    disk.dies_at = disk.calls + dies_at;
    static_cast<void>(cache::Maintenance(*cabinet).pin(test::key_of(0)));
    disk.dies_at = -1;
    REQUIRE(cache::Maintenance(*cabinet).pin(test::key_of(0)));
    for (unsigned seed = 0; seed < 20; ++seed) {
      INFO("killed at call " << dies_at << ", seed " << seed);
      const test::TempFolder after(test::memory_place());
      std::mt19937 random(seed);
      disk.lose_power(random, after.path());
      const auto pins = cache::read_pins(cache::Layout{after / "root"});
      CHECK((pins && pins->contains(test::key_of(0))));
    }
  }
}
