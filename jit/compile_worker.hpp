// The main loop of a compile worker. See worker_pool.hpp.
#pragma once

namespace cubinet::jit {

// Answers the requests (compile_messages.hpp) that arrive through `socket`, one after the other, until the other side
// closes it. A crash or a leak of NVRTC affects the calling process.
void serve_compilations(int socket);

}  // namespace cubinet::jit
