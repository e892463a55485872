// What engines asked for, as cabinets record it: listed, written into a file to be taken elsewhere, and planned again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cache/maintenance.hpp"
#include "cubinet/cubinet.hpp"
#include "util/expected.hpp"

namespace cubinet::warmup {

struct RecordedProblem {
  ProblemRange wanted;       // a problem that kernels take, and M within [1, largest_m]
  std::string architecture;  // of the devices that it was asked for on
  std::int64_t asked = 0;    // the latest time, to the day: seconds since 1970
};

struct RecordedProblems {
  std::vector<RecordedProblem> problems;    // ascending by type, layout, N, K, groups and architecture
  std::vector<cache::SkippedFile> skipped;  // damaged, foreign, or of a build that knows more
};

// Those of a cabinet's first root. io when they cannot be listed.
Expected<RecordedProblems> recorded_in(const cache::Maintenance& cabinet);

// Of a root, when `place` is a folder, else of a file that recorded_json wrote. A file is taken whole or not at all:
// invalid_argument, with what is wrong and where, io, not_found. Errors from a folder as from Cabinet::open.
Expected<RecordedProblems> read_recorded(const std::string& place);

// What is to be planned for. not_found, in words for the user, when nothing is recorded.
Expected<std::vector<ProblemRange>> problems_of(const RecordedProblems& recorded, const std::string& place);

// The text of a record's subject.
std::string subject_of(const RecordedProblem& problem);

// {version, cache, problems[] {dtype, layout, n, k, groups, m_range, arch, asked}, skipped[] {name, reason}} as one
// line of JSON, which read_recorded reads.
std::string recorded_json(const RecordedProblems& recorded, const std::string& root);

}  // namespace cubinet::warmup
