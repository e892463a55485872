// The checks of `cubinet doctor` on what runs kernels.
#pragma once

#include <memory>
#include <string>

#include "jit/driver.hpp"
#include "tools/doctor_check.hpp"
#include "util/expected.hpp"

namespace cubinet::tools {

using OpenedDriver = Expected<std::shared_ptr<const jit::Driver>>;

// Fails where the driver is too old for what NVRTC `compiler`, a version, makes. None is `absent`: kernels can be made
// all the same.
Check check_driver(const OpenedDriver& driver, const std::string& compiler);

// Of the device with that number.
Check check_device(const OpenedDriver& driver, int ordinal);

}  // namespace cubinet::tools
