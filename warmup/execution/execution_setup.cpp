#include "warmup/execution/execution_setup.hpp"

#include <utility>

namespace cubinet::warmup {
namespace {

// A stream and some memory, with which the driver's functions are tried.
struct Trial {
  std::shared_ptr<const jit::DeviceContext> device;
  DeviceStream stream;
  DeviceBuffer buffer;
};

// Calls each driver function that executions use, besides launches, once. The driver takes memory of its own at the
// first call of some of them; this way that memory is taken, and counted, before the size of an execution is chosen.
// The buffer is a whole granule, so that freeing it gives memory back to the device.
Expected<void> try_driver(const jit::Driver& driver, DeviceWatch& watch, CUstream stream, DeviceBuffer& buffer) {
  std::uint32_t word = 0;
  const auto check = [&](CUresult result) { return driver.check(result, "trying the device's memory"); };
  return buffer.reserve(driver, static_cast<std::size_t>(device_granule()))
      .and_then([&] { return watch.used(); })
      .and_then([&](std::int64_t) { return check(driver.cuMemsetD8Async(buffer.address(), 0, 4, stream)); })
      .and_then([&] { return check(driver.cuMemsetD16Async(buffer.address(), 0, 2, stream)); })
      .and_then([&] { return check(driver.cuMemcpyHtoDAsync(buffer.address(), &word, sizeof word, stream)); })
      .and_then([&] { return watch.wait("trying the device's memory", stream); })
      .and_then([&] { return check(driver.cuMemcpyDtoH(&word, buffer.address(), sizeof word)); });
}

// A stream on which try_driver() has succeeded.
Expected<DeviceStream> make_tried_stream(const std::shared_ptr<const jit::DeviceContext>& device, DeviceWatch& watch) {
  auto stream = make_stream(device->driver());
  if (!stream) return stream;
  auto trial = std::make_unique<Trial>(Trial{device, std::move(*stream), {}});
  const auto tried = try_driver(device->driver(), watch, trial->stream.get(), trial->buffer);
  if (tried) return std::move(trial->stream);
  if (watch.hung()) abandon(std::move(trial));
  return propagate(tried);
}

}  // namespace

Expected<std::unique_ptr<ExecutionSetup>> open_setup(const ExecutionParts& parts, DeviceWatch& watch) {
  auto stream = make_tried_stream(parts.device, watch);
  if (!stream) return propagate(stream);
  auto verification = VerificationKernels::open(parts.device, parts.compiler, parts.cabinet, parts.families);
  if (!verification) return propagate(verification);
  auto setup =
      std::make_unique<ExecutionSetup>(ExecutionSetup{parts.device, std::move(*stream), std::move(*verification)});
  const auto ran = setup->verification.empty(1, setup->stream.get()).and_then([&] {
    return watch.wait("an empty kernel", setup->stream.get());
  });
  if (ran) return setup;
  if (watch.hung()) abandon(std::move(setup));
  return propagate(ran);
}

}  // namespace cubinet::warmup
