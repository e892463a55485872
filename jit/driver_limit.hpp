// The kernels that a driver can load: those compiled for its own CUDA major version and for earlier ones.
//
// Source: NVIDIA, CUDA Compatibility, "Minor Version Compatibility". A cubin from any toolkit of a CUDA major version
// runs with every driver of that major version (525 for CUDA 12, 580 for CUDA 13) and with later drivers. PTX would
// need a driver as new as the minor version of the toolkit; a cabinet holds no PTX.
#pragma once

#include <string>
#include <string_view>

#include "jit/driver.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// The text of a version from cuDriverGetVersion: "12.4" for 12040.
std::string cuda_version_text(int version);

// Whether a driver for CUDA `driver` (such as 12040) loads kernels of the NVRTC version `compiler` ("13.0.88" or a
// prefix of it). True if either is unknown: `driver` is 0, or `compiler` is empty. Pure.
bool loads(int driver, std::string_view compiler);

// What to do when loads() is false: install a newer driver, or use an NVRTC that fits the driver. Pure.
std::string driver_limit_advice(int driver, std::string_view compiler);

// Fails with wrong_device if `driver` does not load kernels of the NVRTC version `compiler`. The message names the file
// and the version of the driver, and ends with "; " and driver_limit_advice().
Expected<void> check_driver_limit(const Driver& driver, std::string_view compiler);

// The version of the compiler, such as "13.0.88", that is written in a cubin. Empty if the cubin has no version; cubins
// of CUDA 12 have none. Pure.
std::string compiler_of_cubin(std::string_view cubin);

}  // namespace cubinet::jit
