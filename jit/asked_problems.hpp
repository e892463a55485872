// What a process was asked for, each problem and range once, until it is recorded in the cabinet.
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
  // False where this problem and range, of which no more than largest_m counts, are within what was noted before.
  bool note(const Problem& problem, MRange range, const std::string& architecture);

  // What was noted since the last call.
  std::vector<cache::RecordedProblem> take();

 private:
  std::mutex mutex_;                       // guards the rest
  std::map<std::string, MRange> noted_;    // by subject
  std::map<std::string, MRange> pending_;  // of these
};

}  // namespace cubinet::jit
