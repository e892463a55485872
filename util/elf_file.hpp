// A look at a shared library before the loader maps it.
#pragma once

#include <filesystem>

#include "util/expected.hpp"

namespace cubinet::util {

// Whether `path` is a whole shared library for this machine: an ELF header of its class and processor (System V gABI,
// chapter 4), and no segment, and no section table, that lies beyond the end of the file. The loader does not look: at
// a file that was cut short it ends the process with SIGBUS. Errors: not_found, io; unsupported, with what is wrong.
Expected<void> check_shared_library(const std::filesystem::path& path);

}  // namespace cubinet::util
