// Parsers for the texts of NVRTC. From the log: resources and names of kernels (with --ptxas-options=-v), and whether
// memory ran out. From the head of the PTX: the version of the compiler.
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

// Reads these lines for each kernel and ignores all others:
//   ptxas info    : Compiling entry function 'NAME' for 'sm_90a'
//   ptxas         .     0 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads
//   ptxas info    : Used 168 registers, used 2 barriers, 1024 bytes smem, ...
LogFacts parse_ptxas_log(std::string_view log);

// The log without control characters, except line feeds and tabs. NVRTC ends its own part of the log and the part of
// ptxas with a NUL each.
std::string printable_log(std::string_view log);

// The version of the compiler with its build number, "13.0.88", from this line at the head of a PTX text:
//   // Cuda compilation tools, release 13.0, V13.0.88
// Returns `release` (the "13.0" of nvrtcVersion) if the PTX has no such line, or one of another release.
std::string build_in_ptx(std::string_view ptx, const std::string& release);

// Whether the log of a failed compilation means that memory ran out. This is so if the log says it, and also if the log
// gives no reason: ptxas then reports the lack of memory only on standard error of the process.
bool is_out_of_memory(std::string_view log);

}  // namespace cubinet::jit
