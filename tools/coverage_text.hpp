// What a record of completeness is for, in words and as JSON.
#pragma once

#include <string>
#include <vector>

#include "tools/output.hpp"
#include "warmup/campaign/coverage.hpp"

namespace cubinet::tools {

// "bf16 masked 1024 x 2048 in 32 groups, 2048 x 512 in 32 groups and 3 more": of many problems the first. Problems
// without sizes are "the generic kernels (bf16 masked)". Where they differ in their range of M each has its own behind
// it: "1024 x 2048 in 32 groups (M 1 to 512)".
std::string problems_text(const std::vector<ProblemRange>& problems);

// "1 to 16384"; "by problem" where they differ.
std::string range_text(const std::vector<ProblemRange>& problems);

// A list of {dtype, layout, n, k, groups, m_range}.
Json problems_array(const std::vector<ProblemRange>& problems);

// The architecture; and the number of SMs, where `records`, of which this is one, differ in it.
std::string target_text(const warmup::CoverageRecord& record, const std::vector<warmup::CoverageRecord>& records);

}  // namespace cubinet::tools
