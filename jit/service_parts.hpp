// From what the user of a service asks for to what its engine works with.
#pragma once

#include <memory>

#include "cubinet/cubinet.hpp"
#include "jit/driver.hpp"
#include "jit/kernel_store.hpp"

namespace cubinet::jit {

// Opens the cabinet and its layers, if any are named. What cannot be opened is told in cabinet_problem and done
// without.
EngineParts parts_of(const ServiceOptions& options, std::shared_ptr<const DeviceContext> device);

}  // namespace cubinet::jit
