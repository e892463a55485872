// What engines asked for, so that another build can make it again: a file problems/<SHA-256 of the subject> for each
// subject. docs/cache_format.md has its grammar.
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

// The cabinet does not look into the subject.
struct RecordedProblem {
  std::string subject;     // a JSON object, sorted keys, no white space: the same subject has the same text
  std::int64_t first = 1;  // the smallest range, both ends included, that holds all that was asked for
  std::int64_t last = 1;
  std::int64_t asked = 0;  // the latest time, to the day: seconds since 1970

  friend bool operator==(const RecordedProblem&, const RecordedProblem&) = default;
};

// A file in problems/ that is not taken.
struct SkippedFile {
  std::string name;
  std::string reason;
  bool damaged = true;  // false: it cannot be read, for want of permission or by an error of the disk
};

struct RecordedProblems {
  std::vector<RecordedProblem> problems;  // sorted by subject
  std::vector<SkippedFile> skipped;       // sorted by name
};

// Above it those that were asked for longest ago go.
inline constexpr std::size_t max_recorded_problems = 4096;
inline constexpr std::uint64_t max_problem_bytes = 4096;

// The bytes of a file, and back; nothing for bytes that to_text() does not write.
std::string to_text(const RecordedProblem& problem);
std::optional<RecordedProblem> recorded_problem_from(std::string_view text);

// Those of `asked` that have no record which holds their range and is less than a day old at `now`. Reads one small
// file each and writes nothing.
std::vector<RecordedProblem> unrecorded(const Layout& layout, const std::vector<RecordedProblem>& asked,
                                        std::int64_t now);

// Records each as asked for at `now`; the range of a record grows and never shrinks. Safe when several processes record
// the same subjects at once: each file is replaced whole, and where locks work no range is lost. invalid_argument for a
// subject that is too long; io or no_room from the first write that fails.
Expected<void> record_problems(util::SystemCalls& calls, const Layout& layout,
                               const std::vector<RecordedProblem>& asked, std::int64_t now);

// Follows no link, and reads no file of more than max_problem_bytes. With `own_files_only` a file that is not the
// caller's alone is skipped. io when the folder cannot be listed.
Expected<RecordedProblems> read_problems(const Layout& layout, bool own_files_only = false);

// Takes a record back. False: there was none.
Expected<bool> forget_problem(util::SystemCalls& calls, const Layout& layout, const std::string& subject);

}  // namespace cubinet::cache
