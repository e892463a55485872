// The worker's side of a compilation in a process of its own. See worker_pool.hpp.
#pragma once

namespace cubinet::jit {

// Answers requests (compile_messages.hpp) that come through `socket`, one after the other, until the other side closes
// it. What NVRTC does to the process, it does to this one.
void serve_compilations(int socket);

}  // namespace cubinet::jit
