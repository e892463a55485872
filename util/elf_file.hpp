// Checks a shared library before the loader maps it.
#pragma once

#include <filesystem>

#include "util/expected.hpp"

namespace cubinet::util {

// Checks that `path` is a complete shared library for this machine: an ELF header of its class and processor (System V
// gABI, chapter 4), and no segment or section table beyond the end of the file. The loader does not check this: a
// truncated library ends the process with SIGBUS. Errors: not_found, io; unsupported, with the fault.
Expected<void> check_shared_library(const std::filesystem::path& path);

}  // namespace cubinet::util
