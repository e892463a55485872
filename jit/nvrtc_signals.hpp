// The process's signals while NVRTC compiles.
#pragma once

namespace cubinet::jit {

// Keeps the NVRTC behind `handle`, opened with RTLD_NOW, from taking signals over. It is made as if it had the process
// to itself: at the first compilation its front end calls signal(), first to ignore SIGINT, SIGTERM and SIGXFSZ for an
// instant, which drops one that is pending, then to end the process with exit code 4 at one that comes within the next
// 100 ms. An engine's handlers, Python's among them, would not hear of it. So its import of signal() is bound to a
// function that changes nothing and answers that the signal is ignored, at which the front end lets it be.
//
// False where the library has no such import: then it does what it does. Thread-safe, and may be called again.
bool keep_signals_from(void* handle);

}  // namespace cubinet::jit
