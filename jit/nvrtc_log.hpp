// What NVRTC's texts say. Its log: of a program's kernels (with --ptxas-options=-v), and of memory that it did not get;
// and the head of its PTX: which build of the compiler wrote it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/compiler.hpp"

namespace cubinet::jit {

struct LogFacts {
  Resources resources;  // without compile_ms
  std::vector<std::string> kernel_names;
};

// Reads, for each kernel:
//   ptxas info    : Compiling entry function 'NAME' for 'sm_90a'
//   ptxas         .     0 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads
//   ptxas info    : Used 168 registers, used 2 barriers, 1024 bytes smem, ...
// Lines that it does not know are passed over.
LogFacts parse_ptxas_log(std::string_view log);

// The log without control characters but line feeds and tabs: NVRTC ends its part and that of ptxas with a NUL each.
std::string printable_log(std::string_view log);

// The compiler's build, "13.0.88", from the head of a PTX text:
//   // Cuda compilation tools, release 13.0, V13.0.88
// `release` ("13.0", what nvrtcVersion tells) where the text tells none, or one of another release.
std::string build_in_ptx(std::string_view ptx, const std::string& release);

// Whether the log of a compilation that failed says that there was no memory. ptxas tells the process's standard error
// alone that it got none: its log, and every other one that gives no reason, says the same by naming no error.
bool tells_of_memory(std::string_view log);

}  // namespace cubinet::jit
