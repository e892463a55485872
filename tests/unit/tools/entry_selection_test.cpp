#include "tools/entry_selection.hpp"

#include <algorithm>

#include "catch.hpp"

using namespace cubinet;
using tools::EntryFilter;

namespace {

constexpr std::int64_t now = 1'800'000'000;
constexpr std::int64_t hour = 3600;

cache::Entry selectable_entry(std::uint8_t digit) {
  cache::Entry entry;
  entry.key.bytes.fill(digit);
  entry.facts.details.set("family", "bf16_grouped_masked");
  entry.facts.arch = "sm_90a";
  entry.facts.details.set("n", 4096);
  entry.facts.details.set("k", 7168);
  entry.facts.created = now - 10 * hour;
  entry.last_used = now - 5 * hour;
  entry.bytes = 1000;
  return entry;
}

bool passes(const cache::Entry& entry, void (*ask)(EntryFilter&)) {
  EntryFilter filter;
  ask(filter);
  return tools::passes(entry, filter, now);
}

// The first digits of the keys.
std::string order_of(std::vector<cache::Entry> entries, const char* order, bool reverse = false) {
  tools::sort_entries(entries, tools::entry_order(order).value(), reverse);
  std::string keys;
  for (const cache::Entry& entry : entries) keys += entry.key.hex().substr(1, 1);
  return keys;
}

}  // namespace

TEST_CASE("Each filter passes exactly the entries that it describes") {
  const cache::Entry entry = selectable_entry(1);
  CHECK(passes(entry, [](EntryFilter&) {}));
  CHECK(passes(entry, [](EntryFilter& filter) { filter.family = "bf16_grouped_masked"; }));
  CHECK_FALSE(passes(entry, [](EntryFilter& filter) { filter.family = "bf16_grouped"; }));
  CHECK(passes(entry, [](EntryFilter& filter) { filter.arch = "sm_90a"; }));
  CHECK_FALSE(passes(entry, [](EntryFilter& filter) { filter.arch = "sm_90"; }));
  CHECK(passes(entry, [](EntryFilter& filter) { filter.n = 4096; }));
  CHECK_FALSE(passes(entry, [](EntryFilter& filter) { filter.n = 7168; }));
  CHECK(passes(entry, [](EntryFilter& filter) { filter.k = 7168; }));
  CHECK_FALSE(passes(entry, [](EntryFilter& filter) { filter.k = 0; }));
  CHECK(passes(entry, [](EntryFilter& filter) { filter.larger_than = 999; }));
  CHECK_FALSE(passes(entry, [](EntryFilter& filter) { filter.larger_than = 1000; }));
  CHECK(passes(entry, [](EntryFilter& filter) { filter.used_within = 5 * hour; }));
  CHECK_FALSE(passes(entry, [](EntryFilter& filter) { filter.used_within = 5 * hour - 1; }));
  CHECK(passes(entry, [](EntryFilter& filter) { filter.unused_for = 5 * hour; }));
  CHECK_FALSE(passes(entry, [](EntryFilter& filter) { filter.unused_for = 5 * hour + 1; }));
}

TEST_CASE("An entry must pass all filters") {
  CHECK_FALSE(passes(selectable_entry(1), [](EntryFilter& filter) {
    filter.n = 4096;
    filter.k = 4096;
  }));
}

TEST_CASE("An entry that was never used counts as unused since its creation") {
  cache::Entry entry = selectable_entry(1);
  entry.last_used = 0;
  CHECK_FALSE(passes(entry, [](EntryFilter& filter) { filter.used_within = now; }));
  CHECK(passes(entry, [](EntryFilter& filter) { filter.unused_for = 10 * hour; }));
  CHECK_FALSE(passes(entry, [](EntryFilter& filter) { filter.unused_for = 10 * hour + 1; }));
}

TEST_CASE("A time in the future counts as now, and one before 1970 as 1970") {
  cache::Entry entry = selectable_entry(1);
  entry.last_used = now + 1000 * hour;
  CHECK(passes(entry, [](EntryFilter& filter) { filter.used_within = 0; }));
  CHECK_FALSE(passes(entry, [](EntryFilter& filter) { filter.unused_for = 1; }));
  entry.last_used = 0;
  entry.facts.created = INT64_MIN;
  CHECK(passes(entry, [](EntryFilter& filter) { filter.unused_for = now; }));
}

TEST_CASE("Each order compares its own field") {
  std::vector<cache::Entry> entries{selectable_entry(1), selectable_entry(2)};
  CHECK(order_of(entries, "key") == "12");
  CHECK(order_of({entries[1], entries[0]}, "key") == "12");
  const auto order_with = [&](const char* order, void (*grow)(cache::Entry&)) {
    std::vector<cache::Entry> grown = entries;
    grow(grown[0]);
    return order_of(grown, order) + order_of(grown, order, true);
  };
  CHECK(order_with("family", [](cache::Entry& entry) { entry.facts.details.set("family", "bf16_grouped_maskedx"); }) ==
        "2112");
  CHECK(order_with("family", [](cache::Entry& entry) { entry.facts.details.set("config", "x"); }) == "2112");
  CHECK(order_with("n", [](cache::Entry& entry) { entry.facts.details.set("n", 4097); }) == "2112");
  CHECK(order_with("k", [](cache::Entry& entry) { entry.facts.details.set("k", 7169); }) == "2112");
  CHECK(order_with("used", [](cache::Entry& entry) { ++entry.last_used; }) == "2112");
  CHECK(order_with("size", [](cache::Entry& entry) { ++entry.bytes; }) == "2112");
  CHECK(order_with("age", [](cache::Entry& entry) { --entry.facts.created; }) == "2112");
  CHECK(order_with("hits", [](cache::Entry& entry) { ++entry.hits; }) == "2112");
  CHECK(order_with("compile", [](cache::Entry& entry) { entry.facts.compile_ms = 1; }) == "2112");
  for (const char* other : {"n", "k", "used", "size", "age", "hits", "compile"}) {
    CHECK(order_of({entries[1], entries[0]}, other) == "12");
  }
}

TEST_CASE("Ties are sorted by family, N, K and configuration, also in descending order") {
  std::vector<cache::Entry> entries{selectable_entry(3), selectable_entry(1), selectable_entry(2)};
  entries[0].bytes = 2000;
  CHECK(order_of(entries, "size") == "123");
  CHECK(order_of(entries, "size", true) == "312");
  CHECK(order_of(entries, "key", true) == "321");
}

TEST_CASE("Orders by use are recognized") {
  for (const char* name : {"used", "hits"}) CHECK(tools::is_by_use(tools::entry_order(name).value()));
  for (const char* name : {"key", "family", "n", "k", "size", "age", "compile"}) {
    CHECK_FALSE(tools::is_by_use(tools::entry_order(name).value()));
  }
}

TEST_CASE("An unknown order is refused with the names of the known ones") {
  const auto order = tools::entry_order("date");
  REQUIRE_FALSE(order);
  CHECK(order.error().code == ErrorCode::invalid_argument);
  CHECK(order.error().message.find("'date'") != std::string::npos);
  CHECK(order.error().message.find("key|family|n|k|used|size|age|hits|compile") != std::string::npos);
}
