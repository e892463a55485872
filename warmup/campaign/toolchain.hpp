// NVRTC, or what stands in for it where it cannot be had.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jit/compiler.hpp"
#include "util/expected.hpp"

namespace cubinet::warmup {

struct Toolchain {
  std::unique_ptr<jit::Compiler> compiler;  // never null
  // Why NVRTC cannot be had; then `compiler` compiles nothing.
  std::optional<Error> missing;
};

// `folders` are searched first, see NvrtcCompiler::open. `room`: whether there is memory for NVRTC to compile in
// (jit::check_memory); it is not opened where there is none.
Toolchain open_toolchain(const std::vector<std::string>& folders, const Expected<void>& room = {});

// Of the NVRTC that was opened. Precondition: it is not missing.
const jit::NvrtcLocation& location_of(const Toolchain& toolchain);

}  // namespace cubinet::warmup
