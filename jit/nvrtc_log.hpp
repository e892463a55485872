// What ptxas says of a program's kernels with --ptxas-options=-v.
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

}  // namespace cubinet::jit
