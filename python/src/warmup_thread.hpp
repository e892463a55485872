// Runs a warmup on a thread of its own, so that the calling thread can handle signals and run the progress function.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cubinet/cubinet.h"

namespace cubinet::python {

struct WarmupResult {
  cubinet_status status = CUBINET_OK;
  std::string json;   // the report; empty: there is none
  std::string error;  // the message of a failure
  std::string detail;
};

struct Step {
  std::string phase;
  std::int64_t done = 0;
  std::int64_t total = 0;
};

// Runs cubinet_warmup() and waits for it. On the calling thread, `on_step` is called for each step, and `is_over` at
// least ten times a second. Once one of them returns true the warmup is told to end; it finishes the kernels that it is
// compiling. To be called without the GIL.
WarmupResult run_warmup(const cubinet_options& options, const cubinet_request& request, cubinet_warmup_options warmup,
                        const std::function<bool(const Step&)>& on_step, const std::function<bool()>& is_over);

// For the end of the interpreter: stops the warmups of all threads and waits for them, at most 30 seconds. From
// then on run_warmup() returns CUBINET_INCOMPLETE. To be called without the GIL.
void end_warmups();

// For the child of a fork, in which no warmup runs: resets the count.
void forget_warmups();

}  // namespace cubinet::python
