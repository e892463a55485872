// The toolkit's assembler as a process, to be timed alone.
#pragma once

#include <filesystem>
#include <string>

#include "util/expected.hpp"

namespace cubinet::bench {

// $CUDA_HOME/bin/ptxas, else the first on PATH, else /usr/local/cuda/bin/ptxas. not_found names the places.
Expected<std::filesystem::path> find_ptxas();

// Wall milliseconds of `ptxas -arch=ARCHITECTURE` over a file with this PTX, from start to exit; the fastest of
// `times` runs. An error when it fails.
Expected<double> time_ptxas(const std::filesystem::path& ptxas, const std::string& ptx, const std::string& architecture,
                            int times);

}  // namespace cubinet::bench
