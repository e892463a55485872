#include "util/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <vector>

#include "util/stack_thread.hpp"

namespace cubinet::util {

void parallel_for(std::size_t count, int jobs, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t index = next.fetch_add(1); index < count; index = next.fetch_add(1)) body(index);
  };
  const std::size_t wanted = std::min(static_cast<std::size_t>(std::max(jobs, 1)), count);
  std::vector<StackThread> helpers;
  try {
    while (helpers.size() + 1 < wanted) helpers.emplace_back(work_stack_bytes, work);
  } catch (const std::exception&) {
    // No more threads, or no memory for them: the ones that run share the work.
  }
  run_with_stack(work_stack_bytes, work);
}

}  // namespace cubinet::util
