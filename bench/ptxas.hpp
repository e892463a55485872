// Runs ptxas of the toolkit as a process, to time it alone.
#pragma once

#include <filesystem>
#include <string>

#include "util/expected.hpp"

namespace cubinet::bench {

// Finds ptxas: $CUDA_HOME/bin/ptxas, else the first on PATH, else /usr/local/cuda/bin/ptxas. Error: not_found, which
// names these places.
Expected<std::filesystem::path> find_ptxas();

// Runs `ptxas -arch=ARCHITECTURE` on a file with this PTX `times` times. Returns the wall time of the fastest run in
// milliseconds, from start to exit. Fails if ptxas fails.
Expected<double> time_ptxas(const std::filesystem::path& ptxas, const std::string& ptx, const std::string& architecture,
                            int times);

}  // namespace cubinet::bench
