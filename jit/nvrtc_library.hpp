// NVRTC: the search for its library, and its functions, opened at run time. The only header that includes nvrtc.h.
#pragma once

#include <nvrtc.h>

#include <functional>
#include <string>
#include <vector>

#include "jit/compiler.hpp"
#include "util/expected.hpp"

#define CUBINET_NVRTC_FUNCTIONS(X) \
  X(nvrtcVersion)                  \
  X(nvrtcGetErrorString)           \
  X(nvrtcCreateProgram)            \
  X(nvrtcCompileProgram)           \
  X(nvrtcDestroyProgram)           \
  X(nvrtcGetProgramLogSize)        \
  X(nvrtcGetProgramLog)            \
  X(nvrtcGetCUBINSize)             \
  X(nvrtcGetCUBIN)                 \
  X(nvrtcGetPTXSize)               \
  X(nvrtcGetPTX)

namespace cubinet::jit {

struct NvrtcLibrary {
#define CUBINET_NVRTC_MEMBER(function) decltype(&::function) function = nullptr;
  CUBINET_NVRTC_FUNCTIONS(CUBINET_NVRTC_MEMBER)
#undef CUBINET_NVRTC_MEMBER

  NvrtcLocation location;

  // Loads NVRTC and compiles an empty program with it. `file` is a path, or a name without a slash that the loader
  // searches for. The library stays loaded until the process ends. Errors: not_found if the loader finds no library of
  // that name; compiler_missing or out_of_memory, with the file and what is wrong with it in the message.
  static Expected<NvrtcLibrary> load(const std::string& file);
};

// Opens NVRTC and returns its path and version. `file` is a path, or a name without a slash that the loader searches
// for. Error: not_found if there is no such library. Any other error means that the library exists and cannot be used.
using OpenNvrtc = std::function<Expected<NvrtcLocation>(const std::string& file)>;

// Calls `open` for the candidates in the order that NvrtcCompiler::open states, and returns the first that it opens. If
// earlier candidates were rejected, `refused` of the result is the reason for the first of them. Errors: those of
// NvrtcCompiler::open.
Expected<NvrtcLocation> find_nvrtc(const std::vector<std::string>& folders, const OpenNvrtc& open);

enum class NvrtcOutput { cubin, ptx };

struct NvrtcAnswer {
  std::string bytes;
  std::string log;
};

// Compiles one program. Errors: compile_failed or out_of_memory, with the log. Thread-safe.
Expected<NvrtcAnswer> run_nvrtc(const NvrtcLibrary& nvrtc, const NvrtcInput& input, NvrtcOutput output);

}  // namespace cubinet::jit
