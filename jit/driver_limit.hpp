// Which kernels a driver can load: those of its own CUDA major version and of earlier ones.
//
// Source: NVIDIA, CUDA Compatibility, "Minor Version Compatibility": what a toolkit of a CUDA major version compiled
// runs with every driver of that major version (525 for CUDA 12, 580 for CUDA 13) and with later drivers. PTX would
// need a driver as new as the toolkit's minor version; a cabinet holds none.
#pragma once

#include <string>
#include <string_view>

#include "jit/driver.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// "12.4" for 12040, as cuDriverGetVersion answers it.
std::string cuda_version_text(int version);

// Whether a driver for CUDA `driver` (12040) loads what NVRTC `compiler` ("13.0.88", or its first numbers) makes.
// Without knowledge of either nothing speaks against it: `driver` 0, an empty `compiler`. Pure.
bool loads(int driver, std::string_view compiler);

// What is to be done where it does not: a newer driver, or an NVRTC that the driver's version fits. Pure.
std::string driver_limit_mend(int driver, std::string_view compiler);

// wrong_device where `driver` does not load what NVRTC `compiler` makes; the message names the driver's file and
// version, and ends in "; " and the mend.
Expected<void> check_driver_limit(const Driver& driver, std::string_view compiler);

// The build of the compiler, "13.0.88", by what it writes into each cubin; empty for a cubin that does not say, as
// those of CUDA 12. Pure.
std::string compiler_of_cubin(std::string_view cubin);

}  // namespace cubinet::jit
