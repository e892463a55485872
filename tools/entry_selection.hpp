// The filters and orders of `cubinet cache ls`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/maintenance.hpp"
#include "jit/kernel_facts.hpp"
#include "util/expected.hpp"

namespace cubinet::tools {

// A filter that is not set lets every entry pass.
struct EntryFilter {
  std::optional<std::string> family;
  std::optional<std::string> arch;
  std::optional<std::int64_t> n;
  std::optional<std::int64_t> k;
  std::optional<std::int64_t> used_within;  // seconds
  std::optional<std::int64_t> unused_for;   // seconds; an entry that was never used counts from its creation
  std::optional<std::int64_t> larger_than;  // bytes

  [[nodiscard]] bool asks_for_use() const { return used_within.has_value() || unused_for.has_value(); }
};

// Whether an entry passes all filters at the time `now`, in seconds since 1970. Times in the future count as now.
bool passes(const cache::Entry& entry, const EntryFilter& filter, std::int64_t now);

// An entry that is sorted, with its facts at hand.
struct SortedEntry {
  cache::Entry* entry = nullptr;
  jit::KernelFacts kernel;
};

using EntryOrder = bool (*)(const SortedEntry&, const SortedEntry&);

// The ascending order of that name; invalid_argument, with the known names, for any other name.
Expected<EntryOrder> entry_order(std::string_view name);

// Whether the order uses hits or the last use, which only the index knows.
bool is_by_use(EntryOrder order);

// "key|family|...".
std::string entry_order_names();

// Sorts the entries, descending with `reverse`. Ties are always in ascending order of family, N, K, configuration and
// key.
void sort_entries(std::vector<cache::Entry>& entries, EntryOrder order, bool reverse = false);

}  // namespace cubinet::tools
