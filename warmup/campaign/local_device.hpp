// The GPU and the CUDA driver of this machine: their names for coverage records, and which cubins the driver can load.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "util/expected.hpp"
#include "warmup/campaign/coverage.hpp"

namespace cubinet::warmup {

// The name that all GPUs of this machine have and the version of the kernel module, from files of the kernel module in
// `folder`. None if there are no GPUs, GPUs with different names, or no device file `node`, so that this container has
// no access to them. Takes 1 ms, where starting the CUDA driver takes 100 ms. Ignores CUDA_VISIBLE_DEVICES.
std::optional<Executed> identity_from_module(const std::filesystem::path& folder = "/proc/driver/nvidia",
                                             const std::filesystem::path& node = "/dev/nvidiactl");

// identity_from_module(), or if that has no result, what the CUDA driver reports of the device. Creates no context.
// Errors: driver_missing, driver_failed.
Expected<Executed> identify_device(int ordinal = 0);

// The version that cuDriverGetVersion reports (12040 is CUDA 12.4); 0 if there is no driver. Opens libcuda.
int driver_version();

// The CUDA version up to which the driver loads cubins, in the form of cuDriverGetVersion (13000 is CUDA 13); 0 if
// there is no driver and so no limit. `module` is the result of identity_from_module(). If the kernel module is new
// enough for every accepted compiler, its version decides, without opening libcuda. Else `ask` is called, because a
// newer libcuda can be installed beside an older module.
int driver_limit(const std::optional<Executed>& module, const std::function<int()>& ask);

// driver_limit() of this machine.
int local_driver_limit();

}  // namespace cubinet::warmup
