// The number of compile jobs: how many kernels are compiled at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "util/expected.hpp"
#include "util/machine.hpp"

namespace cubinet::jit {

// The need of compilations for one kind of memory, in bytes: `base` for any number of jobs, and `per_job` for each.
// `least`: the smallest memory in which one job has succeeded; with less NVRTC fails or crashes.
struct CompileMemory {
  std::int64_t base = 0;
  std::int64_t per_job = 1;  // > 0
  std::int64_t least = 0;
};

// Measured needs (docs/design.md, "Memory of the host") with a margin. They hold with and without compile workers: a
// worker needs as much address space and data of its own as one more job needs in a process that compiles itself.
CompileMemory compile_memory(util::MemoryKind kind);

// The number of jobs: one per core, or fewer if the available bytes suffice for fewer. At least one, because a job that
// is slow for lack of memory is better than none. Pure.
int compile_jobs(int cores, std::int64_t available, const CompileMemory& memory);

enum class JobsReason { cores, memory, given };

struct Jobs {
  int count = 1;
  JobsReason reason = JobsReason::cores;
  util::MemoryRoom tightest;  // the limit that lowered the count; set only if the reason is `memory`
};

// The number of jobs for `cores` within all memory limits. The reason is `cores` or `memory`. Pure.
Jobs choose_jobs(int cores, const std::vector<util::MemoryRoom>& rooms);

// Fails with out_of_memory if a limit leaves too little memory for one job. The message names that limit, the memory
// needed and the memory left. Called before NVRTC is opened, because the library takes part of that memory. Pure.
Expected<void> check_memory(const std::vector<util::MemoryRoom>& rooms);

// Advice, with figures, for a compilation that ran out of memory.
std::string memory_advice();

// "cores", "memory" or "given".
std::string reason_name(JobsReason reason);

}  // namespace cubinet::jit
