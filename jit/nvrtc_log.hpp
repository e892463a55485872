// What NVRTC's log says: of a program's kernels (with --ptxas-options=-v), and of memory that it did not get.
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

// Whether the log of a compilation that failed says that there was no memory. ptxas tells the process's standard error
// alone that it got none: its log, and every other one that gives no reason, says the same by naming no error.
bool tells_of_memory(std::string_view log);

}  // namespace cubinet::jit
