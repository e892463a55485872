// Recorded problems: problems that engines have asked for, so that a warmup with another build can compile their
// kernels again. There is a file problems/<SHA-256 of the subject> for each subject; docs/cache_format.md has its
// grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/layout.hpp"
#include "util/expected.hpp"
#include "util/system_calls.hpp"

namespace cubinet::cache {

struct RecordedProblem {
  // A JSON object with sorted keys and no white space, so that the same subject has the same text. The cabinet does not
  // interpret it.
  std::string subject;
  std::int64_t first = 1;  // first and last M of the smallest range that holds every M that was asked for
  std::int64_t last = 1;
  std::int64_t asked = 0;  // when it was last asked for, to within a day: seconds since 1970

  friend bool operator==(const RecordedProblem&, const RecordedProblem&) = default;
};

// A file in problems/ that is not used.
struct SkippedFile {
  std::string name;
  std::string reason;
  bool damaged = true;  // false: it cannot be read, for lack of permission or because of a disk error
};

struct RecordedProblems {
  std::vector<RecordedProblem> problems;  // sorted by subject
  std::vector<SkippedFile> skipped;       // sorted by name
};

// Above this number, the records that were asked for longest ago are removed.
inline constexpr std::size_t max_recorded_problems = 4096;
inline constexpr std::uint64_t max_problem_bytes = 4096;

// Encode and decode a file; decoding returns nullopt for bytes that to_text() does not write.
std::string to_text(const RecordedProblem& problem);
std::optional<RecordedProblem> recorded_problem_from(std::string_view text);

// Returns those of `asked` without a record that contains their range and is less than a day old at `now`. Reads one
// small file each and writes nothing.
std::vector<RecordedProblem> unrecorded(const Layout& layout, const std::vector<RecordedProblem>& asked,
                                        std::int64_t now);

// Records each as asked for at `now`; the range of a record only grows. Several processes may record the same subjects
// at once: each file is replaced whole, and where locks work no range is lost. invalid_argument for a subject that is
// too long; io or no_room from the first write that fails.
Expected<void> record_problems(util::SystemCalls& calls, const Layout& layout,
                               const std::vector<RecordedProblem>& asked, std::int64_t now);

// Reads all records. Follows no link, and reads no file of more than max_problem_bytes. With `own_files_only` skips
// files that others own or may write. io when the folder cannot be listed.
Expected<RecordedProblems> read_problems(const Layout& layout, bool own_files_only = false);

// Removes a record. False: there was none.
Expected<bool> forget_problem(util::SystemCalls& calls, const Layout& layout, const std::string& subject);

}  // namespace cubinet::cache
