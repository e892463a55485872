#include "jit/asked_problems.hpp"

#include <algorithm>
#include <utility>

#include "jit/problems.hpp"

namespace cubinet::jit {

bool AskedProblems::note(const Problem& problem, MRange range, const std::string& architecture) {
  range = {std::min(range.first, largest_m()), std::min(range.last, largest_m())};
  const std::string subject = to_json({problem, architecture});
  const std::lock_guard lock(mutex_);
  const auto [known, is_new] = noted_.try_emplace(subject, range);
  MRange& all = known->second;
  if (!is_new && all.first <= range.first && range.last <= all.last) return false;
  all = {std::min(all.first, range.first), std::max(all.last, range.last)};
  pending_[subject] = all;
  return true;
}

std::vector<cache::RecordedProblem> AskedProblems::take() {
  std::map<std::string, MRange> pending;
  {
    const std::lock_guard lock(mutex_);
    pending.swap(pending_);
  }
  std::vector<cache::RecordedProblem> problems;
  for (const auto& [subject, range] : pending) problems.push_back({subject, range.first, range.last, 0});
  return problems;
}

}  // namespace cubinet::jit
