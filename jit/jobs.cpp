#include "jit/jobs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "util/text.hpp"

namespace cubinet::jit {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

}  // namespace

CompileMemory compile_memory(util::MemoryKind kind) {
  switch (kind) {
    case util::MemoryKind::resident:
      return {96 * mib, 64 * mib, 72 * mib};
    case util::MemoryKind::data:
      return {96 * mib, 64 * mib, 80 * mib};
    case util::MemoryKind::mapped:  // address space is far more than a job touches: the library, the
                                    // stack of a thread, and a 64 MiB arena of the allocator
      return {320 * mib, 96 * mib, 192 * mib};
  }
  return {};
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

Expected<void> check_memory(const std::vector<util::MemoryRoom>& rooms) {
  for (const util::MemoryRoom& room : rooms) {
    const std::int64_t least = compile_memory(room.kind).least;
    if (room.bytes >= least) continue;
    return fail(
        ErrorCode::out_of_memory,
        fmt::format("compiling one kernel at a time takes {} of memory, and {} are left by {}; raise that limit, "
                    "or warm on a machine with more memory",
                    util::format_byte_size(least), util::format_byte_size(room.bytes), room.limit));
  }
  return {};
}

std::string memory_advice() {
  const auto size = [](util::MemoryKind kind) { return util::format_byte_size(compile_memory(kind).least); };
  return fmt::format(
      "compile fewer kernels at once (--jobs 1, ServiceOptions::jobs), or raise the limit: one at a time takes {} of "
      "memory, and {} of address space",
      size(util::MemoryKind::resident), size(util::MemoryKind::mapped));
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
