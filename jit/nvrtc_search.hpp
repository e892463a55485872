// The search for NVRTC.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jit/compiler.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// Opens NVRTC and returns its path and version. `file` is a path, or a name without a slash that the loader searches
// for. Error: not_found if there is no such library. Any other error means that the library exists and cannot be used.
using OpenNvrtc = std::function<Expected<NvrtcLocation>(const std::string& file)>;

// Calls `open` for the candidates in the order that NvrtcCompiler::open states, and returns the first that it opens. If
// earlier candidates were rejected, `refused` of the result is the reason for the first of them. Errors: those of
// NvrtcCompiler::open.
Expected<NvrtcLocation> find_nvrtc(const std::vector<std::string>& folders, const OpenNvrtc& open);

}  // namespace cubinet::jit
