#include "jit/parallel.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace cubinet::jit {

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  // Machines with more cores than the set holds.
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

void parallel_for(std::size_t count, int jobs, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t index = next.fetch_add(1); index < count; index = next.fetch_add(1)) body(index);
  };
  const std::size_t wanted = std::min(static_cast<std::size_t>(std::max(jobs, 1)), count);
  std::vector<std::jthread> helpers;
  helpers.reserve(wanted);
  try {
    while (helpers.size() + 1 < wanted) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads to be had: the ones that run share the work.
  }
  work();
}

}  // namespace cubinet::jit
