// The problems that a process asked for and that are not yet recorded in the cabinet.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cache/recorded_problems.hpp"
#include "cubinet/problem.hpp"

namespace cubinet::jit {

// Thread-safe.
class AskedProblems {
 public:
  // Notes a problem and a range of M; values above largest_m() are clamped. False if the range lies within what was
  // noted before for this problem.
  bool note(const Problem& problem, MRange range, const std::string& architecture);

  // Returns what was noted since the last call.
  std::vector<cache::RecordedProblem> take();

 private:
  std::mutex mutex_;                       // guards the members below
  std::map<std::string, MRange> noted_;    // key: the JSON text of the subject
  std::map<std::string, MRange> pending_;  // the part of noted_ that take() has not returned
};

}  // namespace cubinet::jit
