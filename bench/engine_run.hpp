// Times the start of an engine and bare driver loads of the same kernels, and a launch and a bare driver launch.
#pragma once

#include <cstdint>
#include <string>

#include "util/expected.hpp"

namespace cubinet::bench {

struct EngineOptions {
  std::string cache;  // path of a root; an uncounted first start warms it
  int rounds = 9;
  int launches = 200;  // timed together; few enough to fit into the queue of the driver
};

// Medians over the rounds.
struct EngineResult {
  std::int64_t kernels = 0;
  double start_ms = 0;         // cubinet::start without retaining the context: open, find, verify, load
  double bare_load_ms = 0;     // only the driver calls, for the same cubins
  double launch_us = 0;        // host time of one GroupedGemm::launch, as in layers that share activation buffers
  double fresh_launch_us = 0;  // the same with a new capacity each time, so that no tensor map can be reused
  double bare_launch_us = 0;   // cuLaunchKernelEx with the same attributes and parameters
};

// Needs a GPU. The problems are the shapes of four models, with both data types and both layouts.
Expected<EngineResult> run_engine(const EngineOptions& options);

}  // namespace cubinet::bench
