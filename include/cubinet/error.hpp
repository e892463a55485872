// The errors of Cubinet. No third-party header is needed to read it.
#pragma once

#include <string>

namespace cubinet {

// The kind of an error. The codes are stable: callers may branch on them.
enum class ErrorCode {
  invalid_argument,  // the input breaks a documented rule (bad JSON, negative M, ...)
  unsupported,       // a valid request that no kernel serves; the message names the rule
  not_found,         // a file, an entry or a symbol does not exist
  io,                // a file operation failed
  cache_unusable,    // the cabinet's root cannot be used (a foreign folder, not writable, an unknown format)
  compiler_missing,  // NVRTC could not be opened
  compile_failed,    // NVRTC reported errors; `detail` is its log
  driver_missing,    // libcuda could not be opened, or there is no device
  wrong_device,      // the device cannot run the kernel: it is for another architecture, or needs a newer driver
  driver_failed,     // a CUDA driver call failed
  not_prepared,      // a kernel is missing and nothing may be compiled; the message names its key and the command
                     // that warms it
  capturing,         // a kernel would have to be loaded or compiled while the stream is captured into a graph
  no_room,           // an io error that the next write would get, too: a full or read-only disk, a quota, a limit, a
                     // cabinet that was deleted
  out_of_memory,     // the host is out of memory, or has too little for a compilation to begin
};

// An error as a value. `message` is one line for a person: it names what is wrong and, where possible, how to fix it.
// `detail` is longer text such as a compiler's log; it may be empty.
struct Error {
  ErrorCode code = ErrorCode::invalid_argument;
  std::string message;
  std::string detail;
};

}  // namespace cubinet
