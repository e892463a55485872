// The compiler and the cabinet that a command works with, from the environment and its options.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "cache/cabinet.hpp"
#include "tools/command_line.hpp"
#include "util/expected.hpp"
#include "warmup/campaign/toolchain.hpp"

namespace cubinet::tools {

using warmup::location_of;
using warmup::Toolchain;

// From the folders that the environment names. `room`: see warmup::open_toolchain.
Toolchain open_toolchain(const Expected<void>& room = {});

// The folders that the environment names before the one whose NVRTC was taken, and why they were passed over; empty
// where there are none, or no NVRTC at all.
std::string passed_over(const Toolchain& toolchain);

// Adds --cache DIR.
void add_cache_option(Command command, std::string& folder);

// The folder given, else the environment's, as an absolute path. invalid_argument when neither names one.
Expected<std::string> cache_root(const std::string& option);

// invalid_argument when a file that a command is to write, the value of `option`, lies in the folder of the cabinet
// `root`, in whatever spelling and by whatever link: it would be taken for a part of it, or replace one. Neither has to
// be there.
Expected<void> check_outside(std::string_view option, const std::filesystem::path& file,
                             const std::filesystem::path& root);

// invalid_argument when that file is `input`, which `input_option` gives, under whatever name. An empty `input` is
// none.
Expected<void> check_apart(std::string_view option, const std::filesystem::path& file, std::string_view input_option,
                           const std::filesystem::path& input);

// What CUBINET_CACHE_MAX_SIZE and CUBINET_CACHE_MAX_ENTRIES say, by which every command that stores keeps a root.
// invalid_argument, naming the variable.
Expected<cache::Limits> environment_limits();

}  // namespace cubinet::tools
