// Where NVRTC is looked for.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jit/compiler.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// Opens the library of that path, or of that name, which the loader looks for (no slash in it): where it is, and its
// build. not_found where there is none; any other error is why the one that is there is not to be used.
using OpenNvrtc = std::function<Expected<NvrtcLocation>(const std::string& file)>;

// The first that `open` takes of those that NvrtcCompiler::open searches, and in `refused` why the first one before it
// was not taken. Errors: see there.
Expected<NvrtcLocation> find_nvrtc(const std::vector<std::string>& folders, const OpenNvrtc& open);

}  // namespace cubinet::jit
