// What engines asked for: recorded by them, read by those who make it again.
#include "cache/cabinet_state.hpp"

namespace cubinet::cache {

Expected<void> Cabinet::record_problems(const std::vector<RecordedProblem>& asked) {
  if (auto writable = state_->require_writable(); !writable) return writable;
  const std::int64_t now = state_->clock.seconds();
  const auto news = unrecorded(state_->root.layout, asked, now);
  if (news.empty()) return {};
  return state_->require_whole().and_then(
      [&] { return cache::record_problems(state_->calls, state_->root.layout, news, now); });
}

Expected<RecordedProblems> Cabinet::recorded_problems() const {
  if (state_->bundle) return RecordedProblems{};
  return read_problems(state_->root.layout, state_->root.own_files_only);
}

Expected<bool> Cabinet::forget_problem(const std::string& subject) {
  if (auto writable = state_->require_writable(); !writable) return propagate(writable);
  return cache::forget_problem(state_->calls, state_->root.layout, subject);
}

}  // namespace cubinet::cache
