#include "tools/entry_selection.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "cache/retention.hpp"

namespace cubinet::tools {
namespace {

bool for_people(const cache::Entry& a, const cache::Entry& b) {
  const auto rank = [](const cache::Entry& entry) {
    return std::tie(entry.facts.family, entry.facts.n, entry.facts.k, entry.facts.config, entry.key);
  };
  return rank(a) < rank(b);
}

template <auto Member>
bool by(const cache::Entry& a, const cache::Entry& b) {
  return a.*Member < b.*Member;
}

template <auto Member>
bool by_fact(const cache::Entry& a, const cache::Entry& b) {
  return a.facts.*Member < b.facts.*Member;
}

bool by_age(const cache::Entry& a, const cache::Entry& b) { return a.facts.created > b.facts.created; }

constexpr std::array<std::pair<std::string_view, EntryOrder>, 9> orders = {{
    {"key", by<&cache::Entry::key>},
    {"family", for_people},
    {"n", by_fact<&cache::Facts::n>},
    {"k", by_fact<&cache::Facts::k>},
    {"used", by<&cache::Entry::last_used>},
    {"size", by<&cache::Entry::bytes>},
    {"age", by_age},
    {"hits", by<&cache::Entry::hits>},
    {"compile", by_fact<&cache::Facts::compile_ms>},
}};

bool is(const std::optional<std::string>& wanted, const std::string& value) { return !wanted || *wanted == value; }
bool is(const std::optional<std::int64_t>& wanted, std::int64_t value) { return !wanted || *wanted == value; }

// Seconds since a time of an entry, which may be any number.
std::int64_t since(std::int64_t then, std::int64_t now) { return now - std::clamp<std::int64_t>(then, 0, now); }

bool used_within(const cache::Entry& entry, std::int64_t seconds, std::int64_t now) {
  return entry.last_used != 0 && since(entry.last_used, now) <= seconds;
}

bool unused_for(const cache::Entry& entry, std::int64_t seconds, std::int64_t now) {
  return now - cache::last_use(entry, now) >= seconds;
}

}  // namespace

bool passes(const cache::Entry& entry, const EntryFilter& filter, std::int64_t now) {
  const cache::Facts& facts = entry.facts;
  return is(filter.family, facts.family) && is(filter.arch, facts.arch) && is(filter.n, facts.n) &&
         is(filter.k, facts.k) && (!filter.used_within || used_within(entry, *filter.used_within, now)) &&
         (!filter.unused_for || unused_for(entry, *filter.unused_for, now)) &&
         (!filter.larger_than || entry.bytes > *filter.larger_than);
}

Expected<EntryOrder> entry_order(std::string_view name) {
  for (const auto& [known, order] : orders) {
    if (known == name) return order;
  }
  return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not an order; the orders are {}", name, entry_order_names()));
}

bool is_by_use(EntryOrder order) { return order == by<&cache::Entry::last_used> || order == by<&cache::Entry::hits>; }

std::string entry_order_names() {
  std::string names;
  for (const auto& [name, order] : orders) names += fmt::format("{}{}", names.empty() ? "" : "|", name);
  return names;
}

void sort_entries(std::vector<cache::Entry>& entries, EntryOrder order, bool reverse) {
  // Sorts pointers, then moves each entry once: an entry is about 300 bytes.
  std::vector<cache::Entry*> sorted;
  sorted.reserve(entries.size());
  for (cache::Entry& entry : entries) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [&](const cache::Entry* a, const cache::Entry* b) {
    if (order(*a, *b)) return !reverse;
    if (order(*b, *a)) return reverse;
    return for_people(*a, *b);
  });
  std::vector<cache::Entry> moved;
  moved.reserve(sorted.size());
  for (cache::Entry* entry : sorted) moved.push_back(std::move(*entry));
  entries = std::move(moved);
}

}  // namespace cubinet::tools
