// Warming a cabinet: compile what a plan names and the cabinet does not hold yet.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cache/cabinet.hpp"
#include "jit/compiler.hpp"
#include "util/expected.hpp"
#include "warmup/plan.hpp"

namespace cubinet::warmup {

struct Failure {
  std::string key;      // hexadecimal
  std::string family;
  Error error;          // detail: the compiler's log
};

struct Report {
  std::int64_t compiled = 0;
  std::int64_t hits = 0;
  std::vector<Failure> failed;
  double seconds = 0;
  cache::Persistence persist = cache::Persistence::on;
  std::string persist_problem;   // why an entry could not be stored, once; empty when all were
};

// Called after each kernel, from one thread at a time: kernels done and kernels in all.
using Progress = std::function<void(std::int64_t done, std::int64_t total, const jit::KernelSpec& latest)>;

// Compiles with `jobs` threads (>= 1). A kernel that fails is reported and the others go on. Kernels
// that were already there count as hits, and are recorded as such. `cabinet` may be null: then nothing
// is looked up or stored (persist = off).
Report warm(const Plan& plan, jit::Compiler& compiler, cache::Cabinet* cabinet, int jobs, const Progress& progress);

// Threads to use when the user leaves it open: the cores this process may run on, at least 1.
int default_jobs();

}  // namespace cubinet::warmup
