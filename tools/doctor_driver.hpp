// The checks of `cubinet doctor` on what runs kernels.
#pragma once

#include <memory>

#include "jit/driver.hpp"
#include "tools/doctor_check.hpp"
#include "util/expected.hpp"

namespace cubinet::tools {

using OpenedDriver = Expected<std::shared_ptr<const jit::Driver>>;

Check check_driver(const OpenedDriver& driver);

// Of the device with that number.
Check check_device(const OpenedDriver& driver, int ordinal);

}  // namespace cubinet::tools
