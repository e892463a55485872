// Work that takes more stack than the process may give its threads.
#pragma once

#include <cstddef>
#include <functional>

namespace cubinet::util {

// Runs `work` on a thread with a stack of `bytes`, whatever `ulimit -s` says, and returns when it is done; where the
// system gives no such thread, on the calling one. `work` must not throw.
void run_with_stack(std::size_t bytes, const std::function<void()>& work);

}  // namespace cubinet::util
