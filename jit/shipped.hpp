// Finds files that are installed with the library: kernels and the compile worker.
#pragma once

#include <filesystem>
#include <string>

namespace cubinet::jit {

// The path of the cabinet share/cubinet/kernels in the install prefix of `binary` (a library or an executable). The
// prefix is one or two folders above the folder of the binary: lib/libcubinet.so, lib/x86_64-linux-gnu/libcubinet.so,
// bin/cubinet. Empty if there is no such cabinet.
std::string shipped_kernels(const std::filesystem::path& binary);

// The same for the binary that holds this function.
std::string shipped_kernels();

// The path of the program cubinet-compile-worker that belongs to `binary` (a library or an executable). It is searched
// in the folder of the binary, in bin/ or libexec/cubinet/ beside that folder, and in libexec/cubinet/ one folder
// further up. Empty if there is none.
std::string shipped_worker(const std::filesystem::path& binary);

// The same for the binary that holds this function.
std::string shipped_worker();

}  // namespace cubinet::jit
