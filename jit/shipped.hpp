// The kernels that are installed beside the library.
#pragma once

#include <filesystem>
#include <string>

namespace cubinet::jit {

// share/cubinet/kernels of the prefix that `binary` (a library or an executable) is installed under, one or two folders
// up: lib/libcubinet.so, lib/x86_64-linux-gnu/libcubinet.so, bin/cubinet. Empty when there is no such cabinet.
std::string shipped_kernels(const std::filesystem::path& binary);

// The same for the binary that holds this function.
std::string shipped_kernels();

}  // namespace cubinet::jit
