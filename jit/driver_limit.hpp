// What is said where a driver is older than the kernels, by the rule of accepted_compilers.hpp.
#pragma once

#include <string>
#include <string_view>

#include "jit/accepted_compilers.hpp"
#include "jit/driver.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// What is to be done where a driver for CUDA `driver` does not load what `compiler` ("NVRTC 13.0.88") makes: a newer
// driver, or an NVRTC that fits. Versions of drivers from NVIDIA's CUDA Compatibility, table 1. Pure.
std::string driver_limit_mend(CudaVersion driver, std::string_view compiler);

// wrong_device where `driver` does not load what `compiler` ("NVRTC 13.0.88") makes; the message names the driver's
// file and version, and ends in "; " and the mend.
Expected<void> check_driver_limit(const Driver& driver, std::string_view compiler);

// The compiler, "NVRTC 13.0.88", by what it writes into each cubin; empty for a cubin that does not say, as those of
// CUDA 12. Pure.
std::string compiler_of_cubin(std::string_view cubin);

}  // namespace cubinet::jit
