// The recorded cases of a peer: what to run, and how long the peer took.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "util/expected.hpp"
#include "warmup/execution/row_plan.hpp"

namespace cubinet::bench {

struct Case {
  std::string name;         // "bf16 contig g32 m128 n4096 k7168"
  std::string group_class;  // "bf16 contig g32 m128": cases that differ in N and K alone
  Problem problem;
  std::int64_t rows_per_group = 0;  // the record's m or em
  std::int64_t valid = 0;
  std::int64_t padded_m = 0;  // contiguous layout
  std::int64_t capacity = 0;  // masked layout
  double peer_us = 0;

  // The M that selects a configuration: all rows, or the expected rows per group.
  [[nodiscard]] std::int64_t selecting_m() const;
};

// The BF16 and FP8 cases of a record file, in its order. See cases/README.md for the format.
Expected<std::vector<Case>> read_cases(const std::filesystem::path& file);

// Cases whose name holds every word of `filter` as a word ("masked g32" but not "g3"); all when it is empty.
bool matches(const Case& c, const std::string& filter);

// Group sizes in 0.7..1.3 of the case's rows per group, drawn from `seed` until the valid rows and, for the contiguous
// layout, the padded rows equal the record's. An error when no draw does.
Expected<std::vector<std::int64_t>> group_sizes(const Case& c, std::uint64_t seed);

// The rows of a case with these group sizes.
warmup::RowPlan plan_of(const Case& c, const std::vector<std::int64_t>& sizes);

}  // namespace cubinet::bench
