// Times launches like do_bench of Triton: before each launch, writing 256 MB flushes the L2; two events enclose the
// launch; the result is the median.
#pragma once

#include <functional>
#include <vector>

#include "support/verifier.hpp"

namespace cubinet::bench {

class Stopwatch {
 public:
  using Launch = std::function<Expected<void>(CUstream)>;
  static constexpr int kMostLaunches = 32;

  // Creates a stopwatch that uses the stream and the watchdog of the verifier. The verifier outlives it.
  static Expected<Stopwatch> make(const jit::Driver& driver, test::Verifier& verifier);

  // The median time of `launches` launches (at most kMostLaunches) in microseconds. `what` names the launch in the
  // message if it hangs.
  Expected<double> median_us(const std::string& what, const Launch& launch, int launches);

  // Like median_us(), after warm-up launches, with as many launches as fit into `budget_ms`: 5 to kMostLaunches.
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
