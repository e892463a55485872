// SASS, by the CUDA toolkit's own programs.
#pragma once

#include <filesystem>

#include "util/expected.hpp"

namespace cubinet::tools {

// Has nvdisasm, else cuobjdump, print the SASS of a cubin on standard output: that of CUDA_HOME or /usr/local/cuda,
// else of PATH. not_found with the mend where there is neither, io where the program fails.
Expected<void> print_sass(const std::filesystem::path& cubin);

}  // namespace cubinet::tools
