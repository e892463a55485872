// What a campaign needs from its surroundings: the cabinet's folder and NVRTC.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jit/compiler.hpp"
#include "util/expected.hpp"
#include "warmup/planning/option_names.hpp"

namespace cubinet::warmup {

// The folder as an absolute path. `folder` is the one that the user or the environment names. Errors: invalid_argument
// if it is empty, or begins with ~, which the shell should have expanded. `names` are for the message.
Expected<std::string> cabinet_root(const std::string& folder, const OptionNames& names);

struct Toolchain {
  std::unique_ptr<jit::Compiler> compiler;  // never null
  std::optional<Error> missing;             // why there is no NVRTC; `compiler` then fails with this error
};

// Opens NVRTC. `folders` are searched first; see NvrtcCompiler::open. `room` is an error if there is too little memory
// to compile (jit::check_memory); then NVRTC is not opened.
Toolchain open_toolchain(const std::vector<std::string>& folders, const Expected<void>& room = {});

// The location of the opened NVRTC. Precondition: toolchain.missing is empty.
const jit::NvrtcLocation& location_of(const Toolchain& toolchain);

}  // namespace cubinet::warmup
