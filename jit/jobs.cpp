#include "jit/jobs.hpp"

#include <algorithm>

namespace cubinet::jit {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

}  // namespace

CompileMemory compile_memory(util::MemoryKind kind) {
  // A thread maps far more than it touches: its stack, and an arena of the allocator of 64 MiB.
  if (kind == util::MemoryKind::mapped) return {320 * mib, 96 * mib};
  return {96 * mib, 64 * mib};
}

int compile_jobs(int cores, std::int64_t available, const CompileMemory& memory) {
  const std::int64_t held = std::max<std::int64_t>(available - memory.base, 0) / memory.per_job;
  return static_cast<int>(std::clamp<std::int64_t>(held, 1, std::max(cores, 1)));
}

Jobs choose_jobs(int cores, const std::vector<util::MemoryRoom>& rooms) {
  Jobs jobs{std::max(cores, 1), JobsReason::cores, {}};
  for (const util::MemoryRoom& room : rooms) {
    const int held = compile_jobs(cores, room.bytes, compile_memory(room.kind));
    if (held < jobs.count) jobs = {held, JobsReason::memory, room};
  }
  return jobs;
}

std::string reason_name(JobsReason reason) {
  switch (reason) {
    case JobsReason::cores:
      return "cores";
    case JobsReason::memory:
      return "memory";
    case JobsReason::given:
      return "given";
  }
  return "given";
}

}  // namespace cubinet::jit
