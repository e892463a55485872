// Reads the recorded cases of a peer: the problems and how long the peer took.
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
  std::string group_class;  // "bf16 contig g32 m128": cases of a class differ only in N and K
  Problem problem;
  std::int64_t rows_per_group = 0;  // m or em of the record
  std::int64_t valid = 0;
  std::int64_t padded_m = 0;  // contiguous layout
  std::int64_t capacity = 0;  // masked layout
  double peer_us = 0;

  // The M that selects a configuration: all rows in the contiguous layout, the expected rows per group in the masked
  // one.
  [[nodiscard]] std::int64_t selecting_m() const;
};

// Reads the BF16 and FP8 cases of a record file in their order. cases/README.md describes the format.
Expected<std::vector<Case>> read_cases(const std::filesystem::path& file);

// Whether the name of the case contains every word of `filter` as a whole word: "masked g32" matches, "g3" does not.
// True for an empty filter.
bool matches(const Case& c, const std::string& filter);

// Random group sizes between 0.7 and 1.3 times the rows per group of the case. They are drawn from `seed` until the
// numbers of valid rows and, in the contiguous layout, of padded rows equal those of the record. Fails if no draw does.
Expected<std::vector<std::int64_t>> group_sizes(const Case& c, std::uint64_t seed);

// The rows of a case with these group sizes.
warmup::RowPlan plan_of(const Case& c, const std::vector<std::int64_t>& sizes);

}  // namespace cubinet::bench
