// The functions of NVRTC, opened at run time. The only module that includes nvrtc.h.
#pragma once

#include <nvrtc.h>

#include <string>

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

enum class NvrtcOutput { cubin, ptx };

struct NvrtcAnswer {
  std::string bytes;
  std::string log;
};

// Compiles one program. Errors: compile_failed or out_of_memory, with the log. Thread-safe.
Expected<NvrtcAnswer> run_nvrtc(const NvrtcLibrary& nvrtc, const NvrtcInput& input, NvrtcOutput output);

}  // namespace cubinet::jit
