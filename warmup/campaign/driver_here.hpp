// What the driver of the machine that warms can load.
#pragma once

#include <functional>
#include <optional>

#include "warmup/campaign/coverage.hpp"

namespace cubinet::warmup {

// What cuDriverGetVersion answers here (12040: CUDA 12.4); 0: no driver. Opens libcuda.
int driver_version();

// The CUDA version up to which the driver here loads cubins, as cuDriverGetVersion answers (13000: CUDA 13); 0: no
// driver, and so no limit. `module` is what identity_from_module() read. Where the kernel module is new enough for
// every accepted compiler that is the answer, in no time; else `ask` tells, since a newer libcuda may lie beside an
// older module.
int driver_limit(const std::optional<Executed>& module, const std::function<int()>& ask);

// The same of this machine.
int driver_here();

}  // namespace cubinet::warmup
