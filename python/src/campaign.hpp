// A warmup on a thread of its own, so that the thread which called can go on to hear of signals and to run the caller's
// progress function.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cubinet/cubinet.h"

namespace cubinet::python {

struct WarmupResult {
  cubinet_status status = CUBINET_OK;
  std::string json;   // the report; empty where there is none
  std::string error;  // of a failure
  std::string detail;
};

struct Step {
  std::string phase;
  std::int64_t done = 0;
  std::int64_t total = 0;
};

// Runs cubinet_warmup(). `on_step` is called on this thread for each step, and `is_over` at least ten times a second;
// once either answers true the warmup is told to end, and does so after the kernels in work. To be called without the
// GIL.
WarmupResult run_warmup(const cubinet_options& options, const cubinet_request& request, cubinet_warmup_options warmup,
                        const std::function<bool(const Step&)>& on_step, const std::function<bool()>& is_over);

// Tells warmups that run on other threads to end, and waits until they have, half a minute at most; from then on none
// begins: CUBINET_INCOMPLETE. To be called without the GIL.
void end_warmups();

// In the child of a fork: none runs there.
void forget_warmups();

}  // namespace cubinet::python
