// How many kernels are compiled at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "util/expected.hpp"
#include "util/machine.hpp"

namespace cubinet::jit {

// What compiling takes of one kind of memory: `base` bytes with any number of jobs, and `per_job` for each. `least`: the
// smallest that one job has succeeded in; with less NVRTC fails or crashes.
struct CompileMemory {
  std::int64_t base = 0;
  std::int64_t per_job = 1;  // > 0
  std::int64_t least = 0;
};

// What was measured (docs/design.md, "Memory of the host"), with room to spare. It holds with workers and without: of
// address space and data a worker needs its own, a process that compiles itself as much for each job.
CompileMemory compile_memory(util::MemoryKind kind);

// As many jobs as there are cores, or fewer where the available bytes hold fewer; never less than one, since one that
// is slow for want of memory is worth more than none. Pure.
int compile_jobs(int cores, std::int64_t available, const CompileMemory& memory);

enum class JobsReason { cores, memory, given };

struct Jobs {
  int count = 1;
  JobsReason reason = JobsReason::cores;
  util::MemoryRoom tightest;  // the limit that lowered the count, with `memory` alone
};

// The jobs for so many cores within every limit; reason: `cores` or `memory`. Pure.
Jobs choose_jobs(int cores, const std::vector<util::MemoryRoom>& rooms);

// Whether every limit leaves what one job takes; out_of_memory names the one that does not, needed and left. Asked
// before NVRTC is opened, which takes its part of that. Pure.
Expected<void> check_memory(const std::vector<util::MemoryRoom>& rooms);

// What mends a compilation that found no memory, with the figures.
std::string memory_mend();

// "cores", "memory" or "given".
std::string reason_name(JobsReason reason);

}  // namespace cubinet::jit
