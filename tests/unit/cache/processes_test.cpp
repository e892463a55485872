// Several processes on one root, and processes that are killed.
#include <signal.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "catch.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
using cache::Cabinet;
namespace fs = std::filesystem;

namespace {

constexpr int processes = 16;

// Runs `work(number)` in 16 processes that start at the same time. True: all of them returned true.
template <class Work>
bool all_at_once(Work work) {
  int gate[2];
  if (::pipe(gate) != 0) return false;
  std::vector<pid_t> children;
  for (int number = 0; number < processes; ++number) {
    children.push_back(test::start_child([&] {
      ::close(gate[1]);
      char byte = 0;
      if (::read(gate[0], &byte, 1) != 0) return 2;
      return work(number) ? 0 : 1;
    }));
  }
  ::close(gate[0]);
  ::close(gate[1]);
  bool good = true;
  for (const pid_t child : children) good = test::wait_for(child) == 0 && good;
  return good;
}

bool publish_and_find(Cabinet& cabinet, int number) {
  if (!cabinet.publish(test::key_of(number), test::object_of(number))) return false;
  const auto object = cabinet.find(test::key_of(number), test::record_of(number));
  return object && test::equal(*object, test::object_of(number));
}

// Publishes, finds and removes a few keys, in an order that the seed determines, until something fails.
int write_and_remove(Cabinet& cabinet, unsigned seed) {
  std::mt19937 random(seed);
  while (true) {
    const int number = static_cast<int>(random() % 12);
    if (!cabinet.publish(test::key_of(number), test::object_of(number))) return 1;
    if (random() % 3 == 0) static_cast<void>(cache::Maintenance(cabinet).remove(test::key_of(number)));
    const auto object = cabinet.find(test::key_of(number), test::record_of(number));
    if (object && !test::equal(*object, test::object_of(number))) return 2;
  }
}

}  // namespace

TEST_CASE("sixteen processes create a root and publish the same and different keys at once") {
  const test::TempFolder folder;
  const cache::Layout layout{folder / "root"};
  CHECK(all_at_once([&](int number) {
    auto cabinet = Cabinet::open(layout.root, true);
    if (!cabinet || cabinet->persistence() != cache::Persistence::on) return false;
    for (int i = 0; i < 3; ++i) {
      if (!publish_and_find(*cabinet, i)) return false;
    }
    return publish_and_find(*cabinet, 100 + number) && test::entries_of(*cabinet).has_value();
  }));
  auto cabinet = Cabinet::open(layout.root, false);
  REQUIRE(cabinet);
  const auto report = cache::Maintenance(*cabinet).verify(false);
  CHECK(report->checked == 3 + processes);
  CHECK(report->damaged.empty());
  CHECK(report->leftovers == 0);
  CHECK(report->missing == 0);
  CHECK(report->index_problem.empty());
  CHECK(test::entries_of(*cabinet)->size() == 3 + processes);
  CHECK(cache::Maintenance(*cabinet).verify(false)->orphans == 0);
}

TEST_CASE("sixteen processes rebuild a damaged index at once and all list the same") {
  test::Filled root(10);
  const auto before = test::entries_of(root.cabinet).value();
  for (int round = 0; round < 5; ++round) {
    test::write_file(root.layout.index(), round % 2 == 0 ? std::string("noise") : std::string(40'000, 'x'));
    CHECK(all_at_once([&](int number) {
      if (number % 4 == 0) root.cabinet.record_hits({test::key_of(number % 10)});
      return test::equal(test::entries_of(root.cabinet).value(), before);
    }));
    CHECK(test::equal(test::entries_of(root.cabinet).value(), before));
    const auto report = root.maintenance().verify(false);
    CHECK(report->index_problem.empty());
    CHECK(report->orphans == 0);
  }
}

TEST_CASE("sixteen processes that find a damaged object all miss or get the right object, and it ends published") {
  test::Filled root(1);
  test::write_file(root.layout.object(test::key_of(0)), "damaged");
  CHECK(all_at_once([&](int) {
    const auto object = root.cabinet.find(test::key_of(0), test::record_of(0));
    if (object) return test::equal(*object, test::object_of(0));
    return root.cabinet.publish(test::key_of(0), test::object_of(0)).has_value();
  }));
  CHECK(root.cabinet.find(test::key_of(0), test::record_of(0)));
}

TEST_CASE("a writer killed at any moment leaves only files in tmp, and the root stays usable") {
  test::Filled root(0);
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    const pid_t child = test::start_child([&] {
      for (int i = round * 1000;; ++i) {
        if (!root.cabinet.publish(test::key_of(i), test::object_of(i))) return 1;
      }
    });
    std::this_thread::sleep_for(std::chrono::microseconds(2000 + random() % 30'000));
    ::kill(child, SIGKILL);
    REQUIRE(test::wait_for(child) == -1);
    const auto report = root.maintenance().verify(false);
    REQUIRE(report);
    CHECK(report->damaged.empty());
    CHECK(report->leftovers <= round + 1);
  }
  const auto checked = root.maintenance().verify(false)->checked;
  CHECK(checked > 0);
  CHECK(test::entries_of(root.cabinet)->size() == static_cast<std::size_t>(checked));
  REQUIRE(root.maintenance().verify(true));
  const auto after = root.maintenance().verify(false);
  CHECK(after->checked == checked);
  CHECK(after->orphans == 0);
  CHECK(after->leftovers == 0);
  CHECK(after->index_problem.empty());
}

TEST_CASE("writers of the same keys that are all killed at once, repeatedly, leave a sound root") {
  test::Filled root(0, {}, test::memory_place());
  std::mt19937 random(23);
  for (int round = 0; round < 60; ++round) {
    std::vector<pid_t> children;
    for (unsigned number = 0; number < 4; ++number) {
      children.push_back(
          test::start_child([&] { return write_and_remove(root.cabinet, static_cast<unsigned>(round) * 4 + number); }));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(1000 + random() % 20'000));
    for (const pid_t child : children) ::kill(child, SIGKILL);
    for (const pid_t child : children) REQUIRE(test::wait_for(child) == -1);
    const auto report = root.maintenance().verify(round % 2 == 0);
    REQUIRE(report);
    CHECK(report->damaged.empty());
    CHECK(report->leftovers <= 8);  // of two rounds at most
  }
  REQUIRE(root.maintenance().verify(true));
  const auto after = root.maintenance().verify(false);
  CHECK(after->damaged.empty());
  CHECK(after->orphans + after->missing + after->leftovers == 0);
  CHECK(after->index_problem.empty());
  CHECK(root.maintenance().stats()->quarantined == 0);
}

TEST_CASE("a cabinet opened before a fork works in parent and child, also while a thread uses the index") {
#ifdef CUBINET_THREAD_SANITIZER
  CUBINET_SKIP("the thread sanitizer ends a child whose thread gets the stack of one that its parent has");
#endif
#ifdef CUBINET_ADDRESS_SANITIZER
  CUBINET_SKIP("the address sanitizer's allocator may be locked by a thread that the child of a fork does not have");
#endif
  test::Filled root(2);
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
      root.cabinet.record_hits({test::key_of(0)});
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (int round = 0; round < 20; ++round) {
    CHECK(test::in_child([&] {
            if (!publish_and_find(root.cabinet, 10 + round)) return 1;
            return test::entries_of(root.cabinet) ? 0 : 2;
          }) == 0);
  }
  stop = true;
  busy.join();
  CHECK(test::entries_of(root.cabinet)->size() == 22);
  CHECK(root.maintenance().verify(false)->damaged.empty());
}

TEST_CASE("sixteen processes that evict, publish and look up at once find whole objects or none, without errors") {
  test::Filled root(12, {.limits = {.entries = 8}});
  CHECK(all_at_once([&](int number) {
    for (int round = 0; round < 10; ++round) {
      const int entry = (number + round) % 12;
      if (number % 4 == 0 && !root.maintenance().collect({.entries = 4}, false)) return false;
      if (number % 4 == 1 && !root.cabinet.publish(test::key_of(entry), test::object_of(entry))) return false;
      if (number % 4 == 2) root.cabinet.record_hits({test::key_of(entry)});
      const auto object = root.cabinet.find(test::key_of(entry), test::record_of(entry));
      if (object && !test::equal(*object, test::object_of(entry))) return false;
    }
    return true;
  }));
  REQUIRE(root.maintenance().collect({.entries = 4}, false));
  const auto report = root.maintenance().verify(false);
  CHECK(report->checked == 4);
  CHECK(report->damaged.empty());
  CHECK(report->orphans == 0);
  CHECK(report->missing == 0);
  CHECK(root.maintenance().stats()->quarantined == 0);
}

TEST_CASE("sixteen collections at once evict and count each entry once") {
  test::Filled root(20);
  CHECK(all_at_once([&](int) { return root.maintenance().collect({.entries = 5}, false).has_value(); }));
  CHECK(root.maintenance().stats()->entries == 5);
  CHECK(root.maintenance().stats()->counters.evictions == 15);
}

TEST_CASE("a collection killed at any moment leaves no partial entries, and the next listing corrects the rows") {
  test::Filled root(60);
  std::mt19937 random(3);
  for (int round = 0; round < 10; ++round) {
    const pid_t child = test::start_child([&] {
      for (int left = 59;; left = std::max(left - 1, 1)) {
        if (!root.maintenance().collect({.entries = left}, false)) return 1;
      }
    });
    std::this_thread::sleep_for(std::chrono::microseconds(1000 + random() % 20'000));
    ::kill(child, SIGKILL);
    REQUIRE(test::wait_for(child) == -1);
    CHECK(root.maintenance().verify(false)->damaged.empty());
    REQUIRE(test::entries_of(root.cabinet));
    const auto report = root.maintenance().verify(false);
    CHECK(report->missing == 0);
    CHECK(report->orphans == 0);
  }
}
