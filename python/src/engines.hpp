// One service for each device, and a table from problems to prepared gemms. Every call looks its problem up in the
// table, under the GIL, which takes a few nanoseconds. Services are opened and problems prepared without the GIL, one
// at a time; a Ctrl-C meanwhile takes effect afterwards.
//
// A prepared gemm is never released, since a CUDA graph may hold its kernels.
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

// cubinet_options and the texts that it points to.
struct EngineOptions {
  std::string cache_root;
  bool has_cache_root = false;
  std::vector<std::string> layers;
  std::vector<std::string> nvrtc_folders;
  std::int32_t device = 0;
  std::int32_t jobs = 0;
  std::int32_t miss = CUBINET_MISS_COMPILE;
  std::vector<const char*> pointers;  // into the two lists

  // Points into this object: valid until the object is changed or destroyed.
  cubinet_options c_options();
};

// The gemm of a prepared problem; null: it has not been prepared. Needs the GIL.
cubinet_gemm* find_gemm(const ProblemKey& key);

// Prepares a problem at its first call, for the range of M that a warmup covers by default, and returns its gemm. Null
// with an exception set: `capturing` if `stream` is being captured, or what cubinet_open() or cubinet_prepare()
// returned.
cubinet_gemm* prepare_gemm(const ProblemKey& key, void* stream);

// Prepares the problems on options.device. With `reopen` it opens a new service with these options, which later calls
// use; else it uses the device's service, and opens one if there is none. The texts in `report` are valid until this
// thread's next call of the library. False with an exception set.
bool start_engine(EngineOptions& options, bool reopen, const std::vector<cubinet_problem>& problems,
                  cubinet_start_report& report);

// The state of the device's background compilations. The text in `report` is valid as above. False with an exception
// set.
bool background(std::int32_t device, cubinet_background_report& report);

// Waits for them, at most `seconds`, without the GIL; signal handlers run meanwhile. `done`: none is pending. False
// with an exception set.
bool wait_for_background(std::int32_t device, double seconds, bool& done);

// For the end of the interpreter: waits for preparations and closes the services, which ends background compilations.
// Nothing is prepared afterwards.
void close_services();

// For the child of a fork, which begins without services and with an empty table.
void forget_services();

}  // namespace cubinet::python
