// Which device executes kernels here, as a record of coverage names it.
#pragma once

#include <filesystem>
#include <optional>

#include "util/expected.hpp"
#include "warmup/campaign/coverage.hpp"

namespace cubinet::warmup {

// The name that all GPUs of this machine share and the version of the kernel module, read from the files that the
// module keeps in a millisecond, where the CUDA driver takes a tenth of a second to start. Nothing when there are none,
// or GPUs of several kinds, or this container was given none (no `node`). What CUDA_VISIBLE_DEVICES hides counts all
// the same.
std::optional<Executed> identity_from_module(const std::filesystem::path& folder = "/proc/driver/nvidia",
                                             const std::filesystem::path& node = "/dev/nvidiactl");

// The same, or else what the CUDA driver says of the device. Makes no context. Errors: driver_missing, driver_failed.
Expected<Executed> identify_device(int ordinal = 0);

}  // namespace cubinet::warmup
