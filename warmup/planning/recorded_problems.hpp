// Recorded problems: those that engines have asked for. Lists them, writes them to a file for another machine, and
// reads them for a plan.
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
  ProblemRange wanted;       // a problem that kernels can run, and M within [1, largest_m()]
  std::string architecture;  // of the devices that asked
  std::int64_t asked = 0;    // when it was last asked for, in seconds since 1970, rounded to a day
};

struct RecordedProblems {
  std::vector<RecordedProblem> problems;    // in ascending order of type, layout, N, K, groups and architecture
  std::vector<cache::SkippedFile> skipped;  // damaged files, files of other programs, and files of newer builds
};

// Those of a cabinet's first root. io when they cannot be listed.
Expected<RecordedProblems> recorded_in(const cache::Maintenance& cabinet);

// The problems of a root if `place` is a folder, else of a file that recorded_json() wrote. A file with one wrong
// element is refused as a whole: invalid_argument, with the element and what is wrong. Other errors of a file: io,
// not_found; of a folder: those of opening a cabinet.
Expected<RecordedProblems> read_recorded(const std::string& place);

// The problems to plan for. Errors: not_found, with a message for the user, if nothing is recorded.
Expected<std::vector<ProblemRange>> problems_of(const RecordedProblems& recorded, const std::string& place);

// Reads a file that recorded_json() wrote. Problems are in the order of the file; unknown members are ignored. Errors:
// not_found, io, and invalid_argument for a file that is too large, holds more than cache::max_recorded_problems, has
// another version, or has a wrong element, which the message names.
inline constexpr std::int64_t recorded_file_version = 1;
inline constexpr std::uint64_t max_recorded_file_bytes = std::uint64_t{4} << 20;
Expected<RecordedProblems> read_recorded_file(const std::string& file);

// Checks that kernels can run the problem, and that a plan can have its range of M. Errors: those of can_run(),
// invalid_argument.
Expected<void> check_recorded(const RecordedProblem& problem);

// The subject of a problem's record.
std::string subject_of(const RecordedProblem& problem);

// {version, cache, problems[] {dtype, layout, n, k, groups, m_range, arch, asked}, skipped[] {name, reason}} as one
// line of JSON, which read_recorded reads.
std::string recorded_json(const RecordedProblems& recorded, const std::string& root);

}  // namespace cubinet::warmup
