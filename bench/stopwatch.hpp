// Times launches the way triton's do_bench does: the L2 is flushed by writing 256 MB before each, two events stand
// around it, the figure is the median.
#pragma once

#include <functional>
#include <vector>

#include "support/verifier.hpp"

namespace cubinet::bench {

class Stopwatch {
 public:
  using Launch = std::function<Expected<void>(CUstream)>;
  static constexpr int kMostLaunches = 32;

  // Times on the verifier's stream and waits under its watchdog. The verifier outlives the stopwatch.
  static Expected<Stopwatch> make(const jit::Driver& driver, test::Verifier& verifier);

  // The median of `launches` (at most kMostLaunches) in microseconds. `what` names it if it hangs.
  Expected<double> median_us(const std::string& what, const Launch& launch, int launches);

  // As many launches as `budget_ms` allows, 5 to kMostLaunches, after some to warm up.
  Expected<double> steady_us(const std::string& what, const Launch& launch, double budget_ms);

 private:
  Stopwatch(const jit::Driver& driver, test::Verifier& verifier) : driver_(&driver), verifier_(&verifier) {}
  Expected<void> enqueue(const Launch& launch, std::size_t index);

  const jit::Driver* driver_;
  test::Verifier* verifier_;
  warmup::DeviceBuffer flushed_;
  std::vector<std::pair<warmup::DeviceEvent, warmup::DeviceEvent>> events_;
};

}  // namespace cubinet::bench
