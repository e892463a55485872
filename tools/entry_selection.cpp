#include "tools/entry_selection.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "cache/retention.hpp"

namespace cubinet::tools {
namespace {

bool for_people(const SortedEntry& a, const SortedEntry& b) {
  const auto rank = [](const SortedEntry& one) {
    return std::tie(one.kernel.family, one.kernel.n, one.kernel.k, one.kernel.config, one.entry->key);
  };
  return rank(a) < rank(b);
}

template <auto Member>
bool by(const SortedEntry& a, const SortedEntry& b) {
  return a.entry->*Member < b.entry->*Member;
}

template <auto Member>
bool by_kernel(const SortedEntry& a, const SortedEntry& b) {
  return a.kernel.*Member < b.kernel.*Member;
}

bool by_compile_time(const SortedEntry& a, const SortedEntry& b) {
  return a.entry->facts.compile_ms < b.entry->facts.compile_ms;
}

bool by_age(const SortedEntry& a, const SortedEntry& b) { return a.entry->facts.created > b.entry->facts.created; }

constexpr std::array<std::pair<std::string_view, EntryOrder>, 9> orders = {{
    {"key", by<&cache::Entry::key>},
    {"family", for_people},
    {"n", by_kernel<&jit::KernelFacts::n>},
    {"k", by_kernel<&jit::KernelFacts::k>},
    {"used", by<&cache::Entry::last_used>},
    {"size", by<&cache::Entry::bytes>},
    {"age", by_age},
    {"hits", by<&cache::Entry::hits>},
    {"compile", by_compile_time},
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
  const jit::KernelFacts kernel = jit::kernel_facts(entry.facts);
  return is(filter.family, kernel.family) && is(filter.arch, entry.facts.arch) && is(filter.n, kernel.n) &&
         is(filter.k, kernel.k) && (!filter.used_within || used_within(entry, *filter.used_within, now)) &&
         (!filter.unused_for || unused_for(entry, *filter.unused_for, now)) &&
         (!filter.larger_than || entry.bytes > *filter.larger_than);
}

Expected<EntryOrder> entry_order(std::string_view name) {
  for (const auto& [known, order] : orders) {
    if (known == name) return order;
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("'{}' is not an order; the orders are {}", name, entry_order_names()));
}

bool is_by_use(EntryOrder order) { return order == by<&cache::Entry::last_used> || order == by<&cache::Entry::hits>; }

std::string entry_order_names() {
  std::string names;
  for (const auto& [name, order] : orders) names += fmt::format("{}{}", names.empty() ? "" : "|", name);
  return names;
}

void sort_entries(std::vector<cache::Entry>& entries, EntryOrder order, bool reverse) {
  // Sorts pointers, then moves each entry once: an entry is about 300 bytes.
  std::vector<SortedEntry> sorted;
  sorted.reserve(entries.size());
  for (cache::Entry& entry : entries) sorted.push_back({&entry, jit::kernel_facts(entry.facts)});
  std::sort(sorted.begin(), sorted.end(), [&](const SortedEntry& a, const SortedEntry& b) {
    if (order(a, b)) return !reverse;
    if (order(b, a)) return reverse;
    return for_people(a, b);
  });
  std::vector<cache::Entry> moved;
  moved.reserve(sorted.size());
  for (const SortedEntry& one : sorted) moved.push_back(std::move(*one.entry));
  entries = std::move(moved);
}

}  // namespace cubinet::tools
