// Collections: which entries are evicted, which stay, and what the statistics report.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>

#include <utime.h>

#include <chrono>
#include <functional>
#include <future>
#include <utility>

#include "catch.hpp"
#include "unit/cache/index_holder.hpp"
#include "unit/cache/set_clock.hpp"
#include "unit/cache/support.hpp"
#include "util/file_lock.hpp"

using namespace cubinet;
using cache::Cabinet;
namespace fs = std::filesystem;

namespace {

// The size of an object whose number has one digit.
std::int64_t object_bytes() {
  static const std::int64_t bytes = test::Filled(1).maintenance().stats()->bytes;
  return bytes;
}

bool there(const test::Filled& root, int number) { return fs::exists(root.layout.object(test::key_of(number))); }

// A file system on which one file cannot be removed.
class FailingUnlink final : public util::SystemCalls {
 public:
  std::string path;
  int unlink(const std::string& name) override {
    if (name != path) return SystemCalls::unlink(name);
    errno = EPERM;
    return -1;
  }
};

// Calls a function when the first object is removed.
class CallbackOnUnlink final : public util::SystemCalls {
 public:
  std::function<void()> work;
  int unlink(const std::string& name) override {
    if (name.ends_with(".cubin")) std::exchange(work, [] {})();
    return SystemCalls::unlink(name);
  }
};

// Entries 0 .. 9, used a minute apart, the highest number first.
struct Used {
  Used() {
    for (int i = 9; i >= 0; --i) {
      clock.now += 60;
      root.cabinet.record_hits({test::key_of(i)});
    }
  }
  test::SetClock clock;
  test::Filled root{10, {.clock = clock}};
};

}  // namespace

TEST_CASE("a collection evicts the least recently used entries and their rows, and nothing else") {
  Used used;
  const auto done = used.root.maintenance().collect({.entries = 7}, false);
  REQUIRE(done);
  REQUIRE(done->decision.evictions.size() == 3);
  CHECK(done->problem.empty());
  for (int i = 0; i < 10; ++i) CHECK(there(used.root, i) == (i < 7));
  const auto report = used.root.maintenance().verify(false);
  CHECK(report->checked == 7);
  CHECK(report->missing == 0);
  CHECK(report->orphans == 0);
  CHECK(used.root.maintenance().stats()->counters.evictions == 3);
}

TEST_CASE("a dry run makes the same decision and changes nothing on disk") {
  Used used;
  REQUIRE(test::entries_of(used.root.cabinet));
  const auto before = test::snapshot(used.root.layout.root);
  const auto planned = used.root.maintenance().collect({.bytes = 4 * object_bytes()}, true);
  CHECK(test::snapshot(used.root.layout.root) == before);
  const auto done = used.root.maintenance().collect({.bytes = 4 * object_bytes()}, false);
  REQUIRE(planned->decision.evictions.size() == 6);
  REQUIRE(done->decision.evictions.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(planned->decision.evictions[i].entry.key == done->decision.evictions[i].entry.key);
  }
  CHECK(used.root.maintenance().stats()->bytes <= 4 * object_bytes());
}

TEST_CASE("a write that exceeds a limit collects down to nine tenths of it, and other writes evict nothing") {
  test::SetClock clock;
  test::Filled root(0, {.clock = clock, .limits = {.entries = 10}});
  for (int i = 0; i < 10; ++i) REQUIRE(root.cabinet.publish(test::key_of(i), test::object_of(i)));
  CHECK(root.maintenance().stats()->entries == 10);
  REQUIRE(root.cabinet.publish(test::key_of(10), test::object_of(10)));
  CHECK(root.maintenance().stats()->entries == 9);
  CHECK(there(root, 10));
  CHECK_FALSE(there(root, 0));  // created first, and never used
  CHECK(root.maintenance().stats()->counters.evictions == 2);
}

TEST_CASE("a root is limited by its size, too, and grows without limits") {
  test::Filled limited(20, {.limits = {.bytes = 10 * object_bytes()}});
  CHECK(limited.maintenance().stats()->bytes <= 10 * object_bytes());
  CHECK(limited.maintenance().stats()->entries >= 9);
  test::Filled free(20, {.limits = {}});
  CHECK(free.maintenance().stats()->entries == 20);
}

TEST_CASE("the totals in the index stay correct when rows are rebuilt, removed and resized") {
  test::Filled root(5, {.limits = {.entries = 6}});
  REQUIRE(root.maintenance().remove(test::key_of(0)));
  REQUIRE(root.cabinet.publish(test::key_of(5), test::object_of(5)));
  CHECK(root.maintenance().stats()->entries == 5);
  fs::remove(root.layout.index());
  REQUIRE(test::entries_of(root.cabinet));
  REQUIRE(root.cabinet.publish(test::key_of(6), test::object_of(6)));
  CHECK(root.maintenance().stats()->entries == 6);
  REQUIRE(root.cabinet.publish(test::key_of(7), test::object_of(7)));
  CHECK(root.maintenance().stats()->entries == 6);  // nine tenths of 6, rounded up
}

TEST_CASE("a corrupted total that is too large causes one collection, which evicts nothing and corrects it") {
  test::Filled root(3, {.limits = {.entries = 6}});
  test::sql(root.layout, "UPDATE counters SET value = 1000 WHERE name = 'entries'");
  REQUIRE(root.cabinet.publish(test::key_of(3), test::object_of(3)));
  CHECK(root.maintenance().stats()->entries == 4);
  CHECK(test::number(root.layout, "SELECT value FROM counters WHERE name = 'entries'") == 4);
}

TEST_CASE("pinned entries are not evicted until they are unpinned, even if the index is lost") {
  test::Filled root(4);
  REQUIRE(root.maintenance().pin(test::key_of(0)));
  REQUIRE(root.maintenance().pin(test::key_of(0)));
  fs::remove(root.layout.index());
  const auto listed = test::entries_of(root.cabinet, test::key_of(0).hex());
  REQUIRE(listed->size() == 1);
  CHECK(listed->front().pinned);
  const auto kept = root.maintenance().collect({.bytes = 1}, false);
  CHECK(kept->decision.over);
  CHECK(there(root, 0));
  CHECK(root.maintenance().stats()->entries == 1);
  REQUIRE(root.maintenance().unpin(test::key_of(0)));
  CHECK(root.maintenance().unpin(test::key_of(0)).error().code == ErrorCode::not_found);
  REQUIRE(root.maintenance().collect({.bytes = 1}, false));
  CHECK_FALSE(there(root, 0));
}

TEST_CASE("an entry that is pinned during a collection is not evicted") {
  CallbackOnUnlink calls;
  test::SetClock clock;
  test::Filled root(5, {.clock = clock, .calls = calls});  // entry 0 is the oldest
  Cabinet other = Cabinet::open(root.layout.root, false, {.index_patience = std::chrono::milliseconds(20)}).value();
  calls.work = [&] { CHECK(cache::Maintenance(other).pin(test::key_of(2))); };
  const auto done = root.maintenance().collect({.bytes = 1}, false);
  REQUIRE(done);
  CHECK(there(root, 2));
  CHECK(done->decision.evictions.size() == 4);
  CHECK(done->decision.entries_left == 1);
  CHECK(done->decision.over);
}

TEST_CASE("pinning waits for a running collection and is an error if the entry was evicted") {
  for (const bool evicted : {true, false}) {
    INFO(evicted);
    test::Filled root(1, {.index_patience = std::chrono::milliseconds(60'000)});
    auto other = util::FileLock::acquire(root.layout.collecting(), std::chrono::milliseconds(0));
    REQUIRE((other && *other));
    auto pinning = std::async(std::launch::async, [&] { return root.maintenance().pin(test::key_of(0)); });
    CHECK(pinning.wait_for(std::chrono::milliseconds(200)) == std::future_status::timeout);
    if (evicted) fs::remove(root.layout.object(test::key_of(0)));
    other->reset();
    const auto pinned = pinning.get();
    CHECK(pinned.has_value() != evicted);
    if (evicted) CHECK(pinned.error().code == ErrorCode::not_found);
  }
}

TEST_CASE("if a file cannot be removed, the next entry is evicted in its place to keep the limits") {
  FailingUnlink calls;
  test::Filled root(4, {.calls = calls});
  calls.path = root.layout.object(test::key_of(0)).native();  // the oldest
  const auto done = root.maintenance().collect({.entries = 2}, false);
  REQUIRE(done);
  CHECK(done->decision.entries_left == 2);
  CHECK_FALSE(done->decision.over);
  CHECK(root.maintenance().stats()->entries == 2);
}

TEST_CASE("a hit with a clock in the past makes no entry older, and a hit at time 0 counts as a use") {
  test::SetClock clock;
  test::Filled root(2, {.clock = clock});
  const std::int64_t now = clock.now;
  root.cabinet.record_hits({test::key_of(0)});
  for (const std::int64_t wrong : {now - 7'200, std::int64_t{978'307'200}, std::int64_t{0}, std::int64_t{-5}}) {
    clock.now = wrong;
    root.cabinet.record_hits({test::key_of(0)});
    CHECK(test::entries_of(root.cabinet, test::key_of(0).hex())->front().last_used == now);
  }
  root.cabinet.record_hits({test::key_of(1)});
  CHECK(test::entries_of(root.cabinet, test::key_of(1).hex())->front().last_used > 0);
}

TEST_CASE("an entry that is removed by name loses its pin") {
  test::Filled root(1);
  REQUIRE(root.maintenance().pin(test::key_of(0)));
  REQUIRE(root.maintenance().remove(test::key_of(0)));
  CHECK_FALSE(fs::exists(root.layout.pin(test::key_of(0))));
}

TEST_CASE("a collection fails if pins cannot be read") {
  test::Filled root(2);
  test::write_file(root.layout.pins(), "no folder");
  const auto done = root.maintenance().collect({.bytes = 1}, false);
  REQUIRE_FALSE(done);
  CHECK(done.error().code == ErrorCode::io);
  CHECK(there(root, 0));
}

TEST_CASE("an entry that a running process has loaded is not evicted until that process ends") {
  test::Filled root(2);
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = test::start_child([&] {
    const auto lease = root.cabinet.lease();
    lease->add({test::key_of(0)});
    if (::write(ready[1], "x", 1) != 1) return 1;
    while (true) ::pause();
    return 0;
  });
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  CHECK(test::entries_of(root.cabinet, test::key_of(0).hex())->front().in_use);
  REQUIRE(root.maintenance().collect({.bytes = 1}, false));
  CHECK(there(root, 0));
  CHECK_FALSE(there(root, 1));
  ::kill(child, SIGKILL);
  CHECK(test::wait_for(child) == -1);
  CHECK_FALSE(test::entries_of(root.cabinet, test::key_of(0).hex())->front().in_use);
  REQUIRE(root.maintenance().collect({.bytes = 1}, false));
  CHECK_FALSE(there(root, 0));
  CHECK(fs::is_empty(root.layout.in_use()));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("a lease can grow, ends with its owner, and is not ended by a child process that shares it") {
  test::Filled root(2);
  const auto in_use = [&](int number) {
    return test::entries_of(root.cabinet, test::key_of(number).hex())->front().in_use;
  };
  {
    const auto lease = root.cabinet.lease();
    CHECK_FALSE(fs::exists(root.layout.in_use()));
    lease->add({});
    lease->add({test::key_of(0)});
    CHECK(in_use(0));
    CHECK_FALSE(in_use(1));
    lease->add({test::key_of(1)});
    CHECK(test::in_child([&] {
            lease->~Lease();
            return 0;
          }) == 0);
    CHECK(in_use(0));
    CHECK(in_use(1));
  }
  CHECK_FALSE(in_use(0));
  CHECK(fs::is_empty(root.layout.in_use()));
}

TEST_CASE(
    "the first collection corrects a use that a wrong clock recorded for 2037, so that the entry can be evicted") {
  test::SetClock clock;
  test::Filled root(3, {.clock = clock});
  const std::int64_t now = clock.now;
  clock.now = 2'114'380'800;
  root.cabinet.record_hits({test::key_of(0)});
  clock.now = now;
  REQUIRE(root.maintenance().collect({.entries = 3}, true));
  CHECK(test::entries_of(root.cabinet, test::key_of(0).hex())->front().last_used == 2'114'380'800);
  REQUIRE(root.maintenance().collect({.entries = 3}, false));
  CHECK(test::entries_of(root.cabinet, test::key_of(0).hex())->front().last_used == now);
  clock.now += 60;
  root.cabinet.record_hits({test::key_of(1), test::key_of(2)});
  REQUIRE(root.maintenance().collect({.entries = 2}, false));
  CHECK_FALSE(there(root, 0));
}

TEST_CASE("a clock that alternates between 2001 and 2037 causes no eviction within the limits and loses no use") {
  Used used;
  const auto before = test::entries_of(used.root.cabinet).value();
  for (const std::int64_t now : {978'307'200, 2'114'380'800, 978'307'200}) {
    used.clock.now = now;
    REQUIRE(used.root.maintenance().collect(cache::default_limits, false));
    const auto after = test::entries_of(used.root.cabinet).value();
    REQUIRE(after.size() == before.size());
    for (std::size_t i = 0; i < after.size(); ++i) CHECK(after[i].last_used == before[i].last_used);
  }
}

TEST_CASE("a collection removes old leftovers and old quarantined files, and keeps recent ones and those of writers") {
  test::SetClock clock;
  clock.now = util::system_clock().seconds();
  test::Filled root(1, {.clock = clock});
  const auto old = root.layout.tmp() / "old";
  const auto held = root.layout.tmp() / "held";
  const auto young = root.layout.tmp() / "young";
  for (const auto& path : {old, held, young}) test::write_file(path, "x");
  for (const auto& path : {old, held}) {
    const utimbuf times{clock.now - 90'000, clock.now - 90'000};
    REQUIRE(::utime(path.c_str(), &times) == 0);
  }
  const int file = ::open(held.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(::flock(file, LOCK_EX) == 0);
  test::write_file(root.layout.quarantine() / "damaged.1", "x");
  CHECK(root.maintenance().collect({}, true)->leftovers == 1);
  CHECK(fs::exists(old));
  const auto done = root.maintenance().collect({}, false);
  CHECK(done->leftovers == 1);
  CHECK(done->quarantined == 0);
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(held));
  CHECK(fs::exists(young));
  clock.now += 31 * 86'400;
  CHECK(root.maintenance().collect({}, false)->quarantined == 1);
  CHECK(fs::is_empty(root.layout.quarantine()));
  ::close(file);
}

TEST_CASE("an eviction deletes coverage records that name the entry, and none can be recorded for missing entries") {
  Used used;
  Cabinet& cabinet = used.root.cabinet;
  REQUIRE(cache::Maintenance(cabinet).record_coverage("a", {test::key_of(0), test::key_of(9)}));
  REQUIRE(cache::Maintenance(cabinet).record_coverage("b", {test::key_of(0), test::key_of(1)}));
  REQUIRE(cache::Maintenance(cabinet).collect({.entries = 9}, false));
  REQUIRE(cache::Maintenance(cabinet).coverage()->size() == 1);
  CHECK(cache::Maintenance(cabinet).coverage()->front().subject == "b");
  const auto recorded = cache::Maintenance(cabinet).record_coverage("a", {test::key_of(0), test::key_of(9)});
  REQUIRE_FALSE(recorded);
  CHECK(recorded.error().code == ErrorCode::not_found);
  CHECK(recorded.error().message.find(test::key_of(9).hex()) != std::string::npos);
}

TEST_CASE("a collection fails while another process holds the index, because the times of use are unknown") {
  test::Filled root(2, {.index_patience = std::chrono::milliseconds(50)});
  {
    const test::IndexHolder holder(root.layout.index());
    const auto done = root.maintenance().collect({.bytes = 1}, false);
    REQUIRE_FALSE(done);
    CHECK(done.error().code == ErrorCode::io);
  }
  CHECK(there(root, 0));
}

TEST_CASE("a collection waits for a running collection so as not to evict twice, but not for one that hangs") {
  for (const bool stuck : {false, true}) {
    INFO(stuck);
    test::Filled root(3, {.index_patience = std::chrono::milliseconds(stuck ? 50 : 60'000)});
    auto other = util::FileLock::acquire(root.layout.locks() / "collect", std::chrono::milliseconds(0));
    REQUIRE((other && *other));
    auto collecting = std::async(std::launch::async, [&] { return root.maintenance().collect({.entries = 1}, false); });
    const auto ended = collecting.wait_for(std::chrono::milliseconds(stuck ? 30'000 : 300));
    CHECK((ended == std::future_status::ready) == stuck);
    CHECK(root.maintenance().collect({.entries = 2}, true).has_value());  // a dry run does not wait
    if (!stuck) other->reset();
    const auto collected = collecting.get();
    REQUIRE(collected);
    CHECK(collected->decision.evictions.size() == 2);
  }
}

TEST_CASE("a file that cannot be removed does not count as evicted, and the report gives the reason") {
  FailingUnlink calls;
  test::Filled root(3, {.calls = calls});
  calls.path = root.layout.object(test::key_of(0)).native();
  const auto done = root.maintenance().collect({.bytes = 1}, false);
  REQUIRE(done);
  REQUIRE(done->decision.evictions.size() == 2);
  for (const auto& eviction : done->decision.evictions) CHECK(eviction.entry.key != test::key_of(0));
  CHECK(done->decision.entries_left == 1);
  CHECK(done->decision.over);
  CHECK(done->problem.find(calls.path) != std::string::npos);
  CHECK(root.maintenance().stats()->counters.evictions == 2);
  CHECK(root.maintenance().verify(false)->checked == 1);
  CHECK(root.maintenance().verify(false)->orphans == 0);
}

TEST_CASE("with promote, an entry that only a layer has is copied into the root when its hit is recorded") {
  test::Filled lower(2);
  for (const bool promote : {false, true}) {
    test::Filled root(0, {.promote = promote});
    REQUIRE(root.add_layer(lower.layout.root));
    REQUIRE(root.cabinet.find(test::key_of(0), test::record_of(0)));
    CHECK_FALSE(there(root, 0));
    root.cabinet.record_hits({test::key_of(0)});
    CHECK(there(root, 0) == promote);
    CHECK_FALSE(there(root, 1));
    if (!promote) continue;
    const auto entry = test::entries_of(root.cabinet, test::key_of(0).hex());
    REQUIRE(entry->size() == 1);
    CHECK(entry->front().hits == 1);
    CHECK(root.maintenance().verify(false)->orphans == 0);
    CHECK(root.maintenance().stats()->counters.compiles == 0);
  }
}
