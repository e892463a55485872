// How long an engine's start takes beside bare loads of the same kernels, and a launch beside a bare one.
#pragma once

#include <cstdint>
#include <string>

#include "util/expected.hpp"

namespace cubinet::bench {

struct EngineOptions {
  std::string cache;  // root that is warm after the first round
  int rounds = 9;
  int launches = 200;  // timed together, few enough to fit the driver's queue
};

// Medians over the rounds.
struct EngineResult {
  std::int64_t kernels = 0;
  double start_ms = 0;         // cubinet::start without the device's context: open, find, verify, load
  double bare_load_ms = 0;     // the driver's calls alone, for the same cubins
  double launch_us = 0;        // GroupedGemm::launch, host time of one, as layers that share activation buffers make it
  double fresh_launch_us = 0;  // the same with another capacity each time, so that no tensor map can be kept
  double bare_launch_us = 0;   // cuLaunchKernelEx with the same attributes and parameters
};

// Needs a GPU. The problems are those of four models' shapes in both types and layouts.
Expected<EngineResult> run_engine(const EngineOptions& options);

}  // namespace cubinet::bench
