// A loop shared out over threads.
#pragma once

#include <cstddef>
#include <functional>

namespace cubinet::util {

// Calls body(0) .. body(count - 1), each once, on up to `jobs` threads, the calling one among them unless its stack
// is less than work_stack_bytes; returns when all are done. Where the system gives fewer threads the ones that there
// are do the work. `body` is called from several threads at once and must not throw.
void parallel_for(std::size_t count, int jobs, const std::function<void(std::size_t)>& body);

}  // namespace cubinet::util
