// Which entries are evicted: the decision that dry runs, the command and writers share.
#include "cache/retention.hpp"

#include <algorithm>
#include <random>
#include <set>

#include "catch.hpp"
#include "unit/cache/set_clock.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
using cache::decide;
using cache::Entry;
using cache::EvictionReason;
using cache::Limits;
using test::day;

namespace {

constexpr std::int64_t now = 1'764'000'000;
constexpr std::int64_t year_2001 = 978'307'200;
constexpr std::int64_t year_2037 = 2'114'380'800;

Entry entry_of(int number, std::int64_t created, std::int64_t last_used, std::int64_t bytes = 100) {
  Entry entry;
  entry.key = test::key_of(number);
  entry.facts.created = created;
  entry.last_used = last_used;
  entry.bytes = bytes;
  return entry;
}

std::vector<cache::Key> evicted(const cache::Decision& decision) {
  std::vector<cache::Key> keys;
  for (const auto& eviction : decision.evictions) keys.push_back(eviction.entry.key);
  return keys;
}

std::vector<cache::Key> keys_of(std::initializer_list<int> numbers) {
  std::vector<cache::Key> keys;
  for (const int number : numbers) keys.push_back(test::key_of(number));
  return keys;
}

// Random entries: used and never used, with times in the past and future, pinned, in use, of any size.
std::vector<Entry> any_entries(std::mt19937& random) {
  std::vector<Entry> entries;
  const int count = static_cast<int>(random() % 40);
  for (int i = 0; i < count; ++i) {
    const std::int64_t created = now - day * (static_cast<std::int64_t>(random() % 60) - 10);
    const std::int64_t used = random() % 3 == 0 ? 0 : created + static_cast<std::int64_t>(random() % day);
    entries.push_back(entry_of(i, created, used, 1 + static_cast<std::int64_t>(random() % 1000)));
    entries.back().pinned = random() % 8 == 0;
    entries.back().in_use = random() % 8 == 0;
  }
  return entries;
}

Limits any_limits(std::mt19937& random) {
  const auto maybe = [&](std::int64_t most) {
    return random() % 3 == 0 ? 0 : 1 + static_cast<std::int64_t>(random()) % most;
  };
  return {maybe(10'000), maybe(30), maybe(40 * day)};
}

}  // namespace

TEST_CASE("the last use is never before the creation, and a time in the future counts as now") {
  struct Case {
    const char* name;
    std::int64_t created, last_used, clock, expected;
  };
  const Case cases[] = {
      {"used", now - 9, now - 5, now, now - 5},
      {"never used", now - 9, 0, now, now - 9},
      {"used by a clock that showed 2001", now - 9, year_2001, now, now - 9},
      {"used by a clock that showed 1970", now - 9, 1, now, now - 9},
      {"used before it was made: a clock went back", now - 5, now - 9, now, now - 5},
      {"used in 2037", now - 9, year_2037, now, now},
      {"made in 2037, never used", year_2037, 0, now, now},
      {"the clock shows 2001", now - 9, now - 5, year_2001, year_2001},
      {"the clock shows 2037", now - 9, now - 5, year_2037, now - 5},
      {"made before 1970", -5, 0, now, 0},
      {"the clock shows a time before 1970", now, now, -5, 0},
  };
  for (const Case& one : cases) {
    INFO(one.name);
    CHECK(cache::last_use(entry_of(0, one.created, one.last_used), one.clock) == one.expected);
  }
}

TEST_CASE("only times that are more than a day in the future are corrected") {
  CHECK_FALSE(cache::is_ahead(entry_of(0, now, now), now));
  CHECK_FALSE(cache::is_ahead(entry_of(0, now, now + day), now));
  CHECK(cache::is_ahead(entry_of(0, now, now + day + 1), now));
  CHECK(cache::is_ahead(entry_of(0, year_2037, 0), now));
  CHECK_FALSE(cache::is_ahead(entry_of(0, year_2037, now - 5), now));
}

TEST_CASE("the least recently used entries are evicted until the rest is within the limits, each with a reason") {
  const std::vector<Entry> entries{entry_of(0, now - 9 * day, now - 1), entry_of(1, now - 8 * day, 0),
                                   entry_of(2, now - 7 * day, now - 3 * day), entry_of(3, now - 2 * day, 0)};
  CHECK(decide(entries, {}, now).evictions.empty());
  CHECK(decide(entries, {.bytes = 400, .entries = 4, .age = 8 * day}, now).evictions.empty());
  CHECK(evicted(decide(entries, {.bytes = 399}, now)) == keys_of({1}));
  CHECK(evicted(decide(entries, {.bytes = 100}, now)) == keys_of({1, 2, 3}));
  CHECK(evicted(decide(entries, {.entries = 2}, now)) == keys_of({1, 2}));
  CHECK(evicted(decide(entries, {.age = 2 * day}, now)) == keys_of({1, 2}));
  const auto all = decide(entries, {.bytes = 150, .entries = 2, .age = 7 * day}, now);
  REQUIRE(evicted(all) == keys_of({1, 2, 3}));
  CHECK(all.evictions[0].reason == EvictionReason::age);
  CHECK(all.evictions[1].reason == EvictionReason::entries);
  CHECK(all.evictions[2].reason == EvictionReason::bytes);
  CHECK(all.entries_left == 1);
  CHECK(all.bytes_left == 100);
  CHECK_FALSE(all.over);
}

TEST_CASE("pinned entries and entries in use stay, and the decision reports that the root exceeds its limits") {
  std::vector<Entry> entries{entry_of(0, now - 9 * day, 0), entry_of(1, now - 8 * day, 0), entry_of(2, now, 0)};
  entries[0].pinned = true;
  entries[1].in_use = true;
  const auto decision = decide(entries, {.bytes = 1, .entries = 1, .age = 1}, now);
  CHECK(decision.over);
  CHECK(evicted(decision) == keys_of({2}));
  CHECK(decision.entries_left == 2);
}

TEST_CASE("an entry whose last use has a time in the past is not older than one that was never used") {
  const std::vector<Entry> entries{entry_of(0, now - 9 * day, 0), entry_of(1, now - 8 * day, year_2001)};
  CHECK(evicted(decide(entries, {.entries = 1}, now)) == keys_of({0}));
  CHECK(decide(entries, {.age = 30 * day}, now).evictions.empty());
}

TEST_CASE("an entry that could not be removed counts as present, and the next one is evicted in its place") {
  const std::vector<Entry> entries{entry_of(0, now - 9, 0), entry_of(1, now - 8, 0), entry_of(2, now - 7, 0),
                                   entry_of(3, now - 6, 0)};
  const auto evict = [&](const Entry& entry) {
    if (entry.key == test::key_of(0)) return cache::EvictionOutcome::stays;
    return entry.key == test::key_of(1) ? cache::EvictionOutcome::gone : cache::EvictionOutcome::evicted;
  };
  const auto decision = decide(entries, {.entries = 2}, now, evict);
  CHECK(evicted(decision) == keys_of({2}));
  CHECK(decision.entries_left == 2);
  CHECK(decision.bytes_left == 200);
  CHECK_FALSE(decision.over);
  CHECK(decide(entries, {.entries = 2}, now, [](const Entry&) { return cache::EvictionOutcome::stays; }).over);
}

TEST_CASE("with a clock that shows 2001 no entry exceeds the age limit, and the order of use is kept") {
  const std::vector<Entry> entries{entry_of(0, now - 9 * day, now - 1), entry_of(1, now - 8 * day, 0)};
  CHECK(decide(entries, {.age = day}, year_2001).evictions.empty());
  CHECK(evicted(decide(entries, {.entries = 1}, year_2001)) == keys_of({1}));
  CHECK(evicted(decide(entries, {.entries = 1}, year_2037)) == keys_of({1}));
}

TEST_CASE("for random entries and limits no more than necessary is evicted, the oldest first, and no protected entry") {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    auto entries = any_entries(random);
    const Limits limits = any_limits(random);
    const auto decision = decide(entries, limits, now);
    std::set<cache::Key> gone;
    for (const auto& eviction : decision.evictions) {
      CHECK_FALSE(eviction.entry.pinned);
      CHECK_FALSE(eviction.entry.in_use);
      CHECK(gone.insert(eviction.entry.key).second);
    }
    std::int64_t bytes = 0;
    std::int64_t count = 0;
    std::int64_t youngest_gone = 0;
    for (const auto& eviction : decision.evictions) {
      youngest_gone = std::max(youngest_gone, cache::last_use(eviction.entry, now));
    }
    for (const Entry& entry : entries) {
      if (gone.contains(entry.key)) continue;
      bytes += entry.bytes;
      ++count;
      if (entry.pinned || entry.in_use) continue;
      CHECK(cache::last_use(entry, now) >= youngest_gone);
      if (limits.age > 0) CHECK(now - cache::last_use(entry, now) <= limits.age);
      if (limits.bytes > 0) CHECK_FALSE(decision.over);
    }
    CHECK(decision.bytes_left == bytes);
    CHECK(decision.entries_left == count);
    const bool over = (limits.bytes > 0 && bytes > limits.bytes) || (limits.entries > 0 && count > limits.entries);
    CHECK(decision.over == over);
    // The last eviction was necessary: without it a limit is exceeded.
    if (!decision.evictions.empty()) {
      const auto& last = decision.evictions.back();
      const bool needed = (limits.age > 0 && now - cache::last_use(last.entry, now) > limits.age) ||
                          (limits.bytes > 0 && bytes + last.entry.bytes > limits.bytes) ||
                          (limits.entries > 0 && count + 1 > limits.entries);
      CHECK(needed);
    }
    std::shuffle(entries.begin(), entries.end(), random);
    CHECK(evicted(decide(entries, limits, now)) == evicted(decision));
  }
}

TEST_CASE("limits are parsed from text, and an invalid text is refused and quoted in the error") {
  CHECK(cache::parse_size_limit("") == cache::default_limits.bytes);
  CHECK(cache::parse_size_limit("none") == 0);
  CHECK(cache::parse_size_limit("0") == 0);
  CHECK(cache::parse_size_limit("2GiB") == std::int64_t{2} << 30);
  CHECK(cache::parse_count_limit("") == cache::default_limits.entries);
  CHECK(cache::parse_count_limit("none") == 0);
  CHECK(cache::parse_count_limit("250") == 250);
  CHECK(cache::parse_age_limit("") == 0);
  CHECK(cache::parse_age_limit("none") == 0);
  CHECK(cache::parse_age_limit("0") == 0);
  CHECK(cache::parse_age_limit("90s") == 90);
  CHECK(cache::parse_age_limit("30min") == 1800);
  CHECK(cache::parse_age_limit("12h") == 12 * 3600);
  CHECK(cache::parse_age_limit("7d") == 7 * day);
  CHECK(cache::parse_age_limit("2w") == 14 * day);
  for (const char* text : {"0.0", "0.000GiB"}) CHECK(cache::parse_size_limit(text) == 0);
  for (const char* text : {"-1", "lots", "1.5.2", "9999999999GiB", "0.9", "0.5 B", "0.0000001GiB"}) {
    const auto size = cache::parse_size_limit(text);
    REQUIRE_FALSE(size);
    CHECK(size.error().message.find(text) != std::string::npos);
  }
  for (const char* text : {"-1", "5x", " 5", "1.5", "99999999999999999999"})
    CHECK_FALSE(cache::parse_count_limit(text));
  for (const char* text : {"-1", "7", "5x", "h", "1.5h", "9223372036854775807w"})
    CHECK_FALSE(cache::parse_age_limit(text));
  const auto limits = cache::limits_from("1MiB", "7");
  REQUIRE(limits);
  CHECK(*limits == Limits{1 << 20, 7, 0});
  CHECK(cache::limits_from("x", "").error().message.find("CUBINET_CACHE_MAX_SIZE") == 0);
  CHECK(cache::limits_from("", "x").error().message.find("CUBINET_CACHE_MAX_ENTRIES") == 0);
}
