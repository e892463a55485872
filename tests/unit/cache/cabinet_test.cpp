#include "cache/cabinet.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <thread>

#include "catch.hpp"
#include "unit/cache/set_clock.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
using cache::Cabinet;
namespace fs = std::filesystem;

namespace {}  // namespace

TEST_CASE("only a text of 64 hexadecimal digits is a key") {
  const std::string hex(64, 'a');
  CHECK(cache::Key::from_hex(hex)->hex() == hex);
  CHECK_FALSE(cache::Key::from_hex(hex.substr(1)));
  CHECK_FALSE(cache::Key::from_hex(hex + "a"));
  CHECK_FALSE(cache::Key::from_hex("g" + hex.substr(1)));
}

TEST_CASE("a published entry is found, by this cabinet object and by one opened later") {
  test::Filled root(3);
  for (int i = 0; i < 3; ++i) {
    const auto object = root.cabinet.find(test::key_of(i), test::record_of(i));
    REQUIRE(object);
    CHECK(test::equal(*object, test::object_of(i)));
  }
  const auto later = Cabinet::open(root.layout.root, false);
  REQUIRE(later);
  CHECK(test::equal(*later->find(test::key_of(2), test::record_of(2)), test::object_of(2)));
  CHECK_FALSE(later->find(test::key_of(3), test::record_of(3)));
}

TEST_CASE("an entry is found for its own record only, and stays after a look-up with another record") {
  test::Filled root(1);
  CHECK_FALSE(root.cabinet.find(test::key_of(0), "another record"));
  CHECK(root.cabinet.find(test::key_of(0), test::record_of(0)));
  CHECK(fs::is_empty(root.layout.quarantine()));
}

TEST_CASE("the payload is at the front of the object's file, where other tools expect it") {
  test::Filled root(1);
  const std::string payload = test::object_of(0).payload;
  CHECK(test::contents(root.layout.object(test::key_of(0))).substr(0, payload.size()) == payload);
}

TEST_CASE("the first publisher of a key wins, and a second publish succeeds without a change") {
  test::Filled root(1);
  auto other = test::object_of(0);
  other.payload = "other bytes";
  REQUIRE(root.cabinet.publish(test::key_of(0), other));
  CHECK(test::equal(*root.cabinet.find(test::key_of(0), test::record_of(0)), test::object_of(0)));
}

TEST_CASE("a key that is not the digest of the record is refused, and nothing is stored") {
  test::Filled root(0);
  const auto published = root.cabinet.publish(test::key_of(1), test::object_of(2));
  REQUIRE_FALSE(published);
  CHECK(published.error().code == ErrorCode::invalid_argument);
  CHECK(test::count_files(root.layout.objects()) == 0);
  CHECK(fs::is_empty(root.layout.tmp()));
}

TEST_CASE("a look-up does not need the index: it hits with a damaged or missing index, or a folder in its place") {
  test::Filled root(2);
  const auto all_hits = [&] {
    const auto cabinet = Cabinet::open(root.layout.root, false);
    return cabinet->find(test::key_of(0), test::record_of(0)) && cabinet->find(test::key_of(1), test::record_of(1));
  };
  test::write_file(root.layout.index(), "noise");
  CHECK(all_hits());
  CHECK(test::contents(root.layout.index()) == "noise");
  fs::remove(root.layout.index());
  CHECK(all_hits());
  CHECK_FALSE(fs::exists(root.layout.index()));
  fs::create_directory(root.layout.index());
  CHECK(all_hits());
  CHECK(fs::is_directory(root.layout.index()));
}

TEST_CASE("the listing has the published entries in the order of their keys") {
  test::Filled root(20);
  const auto entries = test::entries_of(root.cabinet);
  REQUIRE(entries);
  REQUIRE(entries->size() == 20);
  CHECK(std::is_sorted(entries->begin(), entries->end(), [](auto& a, auto& b) { return a.key < b.key; }));
  for (int i = 0; i < 20; ++i) {
    const auto it = std::find_if(entries->begin(), entries->end(), [&](auto& e) { return e.key == test::key_of(i); });
    REQUIRE(it != entries->end());
    CHECK(it->facts == test::object_of(i).facts);
    CHECK(it->record == test::record_of(i));
    CHECK(it->bytes == static_cast<std::int64_t>(fs::file_size(root.layout.object(it->key))));
    CHECK(it->hits == 0);
  }
}

TEST_CASE("a compiled entry counts as unused, and a copied entry counts as used when it is stored") {
  test::SetClock clock;
  test::Filled root(0, {.clock = clock});
  REQUIRE(root.cabinet.publish(test::key_of(0), test::object_of(0), cache::Origin::compiled));
  CHECK(test::entries_of(root.cabinet)->front().last_used == 0);
  REQUIRE(root.maintenance().remove(test::key_of(0)));
  REQUIRE(root.cabinet.publish(test::key_of(0), test::object_of(0), cache::Origin::copied));
  CHECK(test::entries_of(root.cabinet)->front().last_used == clock.now);
}

TEST_CASE("entries are listed by the first digits of their key, in either case") {
  test::Filled root(20);
  const std::string hex = test::key_of(7).hex();
  std::string upper = hex.substr(0, 12);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  REQUIRE(test::entries_of(root.cabinet, upper)->size() == 1);
  CHECK(test::entries_of(root.cabinet, hex)->front().key == test::key_of(7));
  CHECK(test::entries_of(root.cabinet, "")->size() == 20);
  CHECK(test::entries_of(root.cabinet, hex + "0")->empty());
  CHECK(test::entries_of(root.cabinet, "xyz").error().code == ErrorCode::invalid_argument);
  CHECK(test::entries_of(root.cabinet, "%").error().code == ErrorCode::invalid_argument);
}

TEST_CASE("hits are counted with the latest time of use, even if the clock goes back") {
  test::SetClock clock;
  test::Filled root(2, {.clock = clock});
  std::int64_t latest = 0;
  for (const std::int64_t year : {2037, 2001}) {
    clock.now = (year - 1970) * 31'557'600;
    latest = std::max(latest, clock.now);
    root.cabinet.record_hits({test::key_of(0), test::key_of(0), test::key_of(9)});
    const auto entry = test::entries_of(root.cabinet, test::key_of(0).hex())->front();
    CHECK(entry.last_used == latest);
  }
  CHECK(test::entries_of(root.cabinet, test::key_of(0).hex())->front().hits == 4);
  CHECK(test::entries_of(root.cabinet, test::key_of(1).hex())->front().hits == 0);
  CHECK(test::entries_of(root.cabinet)->size() == 2);
  CHECK(root.maintenance().stats()->hits == 4);
}

TEST_CASE("hits of an entry without a row are not lost") {
  test::Filled root(2);
  fs::remove(root.layout.index());
  root.cabinet.record_hits({test::key_of(1)});
  CHECK(test::entries_of(root.cabinet, test::key_of(1).hex())->front().hits == 1);
  CHECK(test::entries_of(root.cabinet)->size() == 2);
}

TEST_CASE("statistics are sums over the entries") {
  test::Filled root(3);
  const auto stats = root.maintenance().stats();
  REQUIRE(stats);
  CHECK(stats->entries == 3);
  CHECK(stats->compile_ms == 3 * 214.125 + 3);
  std::int64_t bytes = 0;
  for (int i = 0; i < 3; ++i) bytes += static_cast<std::int64_t>(fs::file_size(root.layout.object(test::key_of(i))));
  CHECK(stats->bytes == bytes);
  CHECK(stats->quarantined == 0);
}

TEST_CASE("a removed entry is gone from disk and listing, and can be published again") {
  test::Filled root(2);
  REQUIRE(root.maintenance().remove(test::key_of(0)));
  CHECK_FALSE(root.cabinet.find(test::key_of(0), test::record_of(0)));
  CHECK_FALSE(fs::exists(root.layout.object(test::key_of(0))));
  CHECK(test::entries_of(root.cabinet)->size() == 1);
  CHECK(root.maintenance().remove(test::key_of(0)).error().code == ErrorCode::not_found);
  REQUIRE(root.cabinet.publish(test::key_of(0), test::object_of(0)));
  CHECK(test::entries_of(root.cabinet)->size() == 2);
}

TEST_CASE("threads may share a cabinet") {
  test::Filled root(0);
  std::vector<std::thread> threads;
  std::atomic<int> misses{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        if (!root.cabinet.publish(test::key_of(i), test::object_of(i))) ++misses;
        const auto object = root.cabinet.find(test::key_of(i), test::record_of(i));
        if (!object || !test::equal(*object, test::object_of(i))) ++misses;
        root.cabinet.record_hits({test::key_of(i)});
        if (!test::entries_of(root.cabinet)) ++misses;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(misses == 0);
  CHECK(test::entries_of(root.cabinet)->size() == 10);
  CHECK(root.maintenance().stats()->hits == 40);
}

TEST_CASE("no descriptor stays open between calls") {
  test::Filled root(2);
  const auto descriptors = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = descriptors();
  REQUIRE(test::entries_of(root.cabinet));
  REQUIRE(root.cabinet.publish(test::key_of(5), test::object_of(5)));
  REQUIRE(root.cabinet.find(test::key_of(5), test::record_of(5)));
  REQUIRE(root.maintenance().verify(true));
  CHECK(descriptors() == before);
}
