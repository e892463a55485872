// The compiler and the cabinet of a command, from the environment and its options.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "cache/limits.hpp"
#include "tools/command_line.hpp"
#include "util/expected.hpp"
#include "warmup/campaign/setup.hpp"

namespace cubinet::tools {

using warmup::location_of;
using warmup::Toolchain;

// Opens NVRTC from the folders that the environment names. `room`: see warmup::open_toolchain.
Toolchain open_toolchain(const Expected<void>& room = {});

// A message about the folders that the environment names before the one of the opened NVRTC, and why they were not
// used; empty if there are none, or if no NVRTC was opened.
std::string passed_over(const Toolchain& toolchain);

// Adds --cache DIR.
void add_cache_option(Command command, std::string& folder);

// The folder of the option, else of the environment, as an absolute path. invalid_argument if neither names one.
Expected<std::string> cache_root(const std::string& option);

// invalid_argument if the output file `file`, the value of `option`, is inside the cabinet `root`, through links too:
// it would be taken for a part of the cabinet, or replace one. Neither has to exist.
Expected<void> check_outside(std::string_view option, const std::filesystem::path& file,
                             const std::filesystem::path& root);

// invalid_argument if the output file is the input file `input`, the value of `input_option`, through links too. An
// empty `input` means none.
Expected<void> check_apart(std::string_view option, const std::filesystem::path& file, std::string_view input_option,
                           const std::filesystem::path& input);

// The limits of CUBINET_CACHE_MAX_SIZE and CUBINET_CACHE_MAX_ENTRIES, which every storing command keeps to.
// invalid_argument, with the variable's name, if one is malformed.
Expected<cache::Limits> environment_limits();

}  // namespace cubinet::tools
