// What is installed beside the library: kernels, and the program that compiles.
#pragma once

#include <filesystem>
#include <string>

namespace cubinet::jit {

// share/cubinet/kernels of the prefix that `binary` (a library or an executable) is installed under, one or two folders
// up: lib/libcubinet.so, lib/x86_64-linux-gnu/libcubinet.so, bin/cubinet. Empty when there is no such cabinet.
std::string shipped_kernels(const std::filesystem::path& binary);

// The same for the binary that holds this function.
std::string shipped_kernels();

// The program cubinet-compile-worker that belongs to `binary` (a library or an executable): in its folder, in bin/ or
// libexec/cubinet/ beside that, or in libexec/cubinet/ one folder further up. Empty when there is none.
std::string shipped_worker(const std::filesystem::path& binary);

// The same for the binary that holds this function.
std::string shipped_worker();

}  // namespace cubinet::jit
