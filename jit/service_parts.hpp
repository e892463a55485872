// Builds the parts of an engine from the options of a service.
#pragma once

#include <memory>

#include "cubinet/cubinet.hpp"
#include "jit/driver.hpp"
#include "jit/kernel_store.hpp"

namespace cubinet::jit {

// Opens the cabinet and its layers, if the options name any. If one cannot be opened, cabinet_problem says why, and the
// engine works without it.
EngineParts parts_of(const ServiceOptions& options, std::shared_ptr<const DeviceContext> device);

}  // namespace cubinet::jit
