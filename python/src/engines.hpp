// One service for each device, and the table from a problem to what is launched for it. The table is read at every call
// under the GIL and costs a few nanoseconds; services are opened and problems prepared without the GIL, one at a time.
// A Ctrl-C meanwhile is heard afterwards.
//
// Nothing that has been prepared is ever released: a CUDA graph may hold its kernels.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cubinet/cubinet.h"

namespace cubinet::python {

struct ProblemKey {
  std::int32_t dtype;   // cubinet_dtype
  std::int32_t layout;  // cubinet_layout
  std::int32_t device;
  std::int64_t n;
  std::int64_t k;
  std::int64_t groups;

  friend bool operator==(const ProblemKey&, const ProblemKey&) = default;
};

// cubinet_options with the texts that it points to.
struct EngineOptions {
  std::string cache_root;
  bool has_cache_root = false;
  std::vector<std::string> layers;
  std::vector<std::string> nvrtc_folders;
  std::int32_t device = 0;
  std::int32_t jobs = 0;
  std::int32_t miss = CUBINET_MISS_COMPILE;
  std::vector<const char*> pointers;  // into the two lists

  // Valid as long as this is and stays unchanged.
  cubinet_options c_options();
};

// Null where the problem has not been prepared.
cubinet_gemm* find_gemm(const ProblemKey& key);

// Prepares a problem at its first sight, over all M that a warmup covers by default. Null with an exception set, which
// is `capturing` where `stream` is being captured.
cubinet_gemm* prepare_gemm(const ProblemKey& key, void* stream);

// Prepares the problems on options.device. `reopen` opens a service with these options, which calls use from now on;
// otherwise the present one serves, where there is one. The texts of `report` live as the library's do. False with an
// exception set.
bool start_engine(EngineOptions& options, bool reopen, const std::vector<cubinet_problem>& problems,
                  cubinet_start_report& report);

// Kernels that are made in the background on a device. False with an exception set.
bool background(std::int32_t device, cubinet_background_report& report);

// Waits for them without the GIL, and hears signals. False with an exception set.
bool wait_for_background(std::int32_t device, double seconds, bool& done);

// Waits for preparations, and ends what services do in the background. To be called when the interpreter ends; nothing
// is prepared after it.
void close_services();

// In the child of a fork: it begins with no service and an empty table.
void forget_services();

}  // namespace cubinet::python
