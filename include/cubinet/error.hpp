// The one error vocabulary of Cubinet: every operation that may fail for a reason outside the
// caller's code reports one of these. No third-party header is needed to read it.
#pragma once

#include <string>

namespace cubinet {

// What kind of thing went wrong; stable, so that callers may branch on it.
enum class ErrorCode {
  invalid_argument,  // the caller's input breaks a documented rule (bad JSON, negative M, ...)
  unsupported,       // a legal request that these kernels do not take; the message names the rule
  not_found,         // a file, an entry or a symbol that is not there
  io,                // the operating system refused a file operation
  cache_unusable,    // the cabinet's root cannot be used (foreign folder, unwritable, unknown format)
  compiler_missing,  // NVRTC could not be opened
  compile_failed,    // NVRTC refused the source; `detail` is its log
  driver_missing,    // libcuda could not be opened, or there is no device
  wrong_device,      // a kernel that the device does not run: it is for another architecture, or for a newer driver
  driver_failed,     // a CUDA driver call failed
  not_prepared,      // a kernel that is not ready, where nothing may be compiled; the message names its key, and the
                     // command that warms it
  capturing,         // a launch would have to load or compile a kernel while its stream is captured into a graph
  no_room,           // io that the next write meets, too: a full or read-only disk, a quota, a limit, a cabinet gone
  out_of_memory,     // the host has no memory for a compilation, or too little for one to begin
};

// An error as a value. `message` is one line for a person, names the thing that is wrong and,
// where there is one, the mend; `detail` is longer material such as a compiler's log (may be empty).
struct Error {
  ErrorCode code = ErrorCode::invalid_argument;
  std::string message;
  std::string detail;
};

}  // namespace cubinet
