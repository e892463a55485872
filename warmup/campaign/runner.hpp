// Warming a cabinet: compile what a plan names and the cabinet does not hold yet.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cache/cabinet.hpp"
#include "jit/accepted_compilers.hpp"
#include "jit/compiler.hpp"
#include "jit/provide.hpp"
#include "util/expected.hpp"
#include "warmup/planning/plan.hpp"

namespace cubinet::warmup {

struct Failure {
  std::string key;  // hexadecimal
  std::string family;
  Error error;  // detail: the compiler's log
};

struct Report {
  std::int64_t compiled = 0;
  std::int64_t stored = 0;    // of `compiled`: what the cabinet holds now
  std::int64_t replaced = 0;  // of `stored`: in the place of one that no accepted compiler made
  std::int64_t hits = 0;
  std::vector<cache::Key> stored_keys;  // of `stored`
  std::vector<cache::Key> hit_keys;     // of `hits`
  std::int64_t shared = 0;              // of `hits`: what another process, or thread, made during this run
  jit::Makers compilers;                // of those that were compiled or hit
  std::vector<Failure> failed;          // in the order of the plan
  // Keys of the kernels that were not begun, or not waited for, because `stop` was set or there was no room, and of
  // those that were not booked for want of memory; in the order of the plan.
  std::vector<std::string> remaining;
  double seconds = 0;
  // What became of the kernels that were compiled. on: all were stored; readonly: the cabinet takes none; off: there is
  // no cabinet, or not every kernel could be stored, or stayed.
  cache::Persistence persist = cache::Persistence::on;
  std::string persist_problem;  // why an entry could not be stored, or did not stay, once; empty when all are there
  bool no_room = false;         // that is ErrorCode::no_room, and ended the run
};

enum class Outcome { compiled, there, failed };

// What was done last, and how far the run is.
struct Step {
  std::int64_t done = 0;  // kernels, this one among them
  std::int64_t total = 0;
  const jit::KernelSpec& latest;
  Outcome outcome = Outcome::compiled;
};

// Called after each kernel, from one thread at a time. What it throws is dropped: progress that cannot be told costs no
// kernel.
using Progress = std::function<void(const Step& step)>;

// How a run gets on with others that warm the same cabinet.
struct Sharing {
  // How long a kernel that somebody else is making is waited for when there is nothing else to do. Then it is compiled
  // here too.
  std::chrono::milliseconds patience = jit::claim_patience;
  // Called at each look at a kernel that another process is making, several times a second while it is waited for; 0 is
  // one that is not known. From any thread, several at once. What it throws is dropped.
  std::function<void(std::int64_t holder)> waits;
};

// Compiles with `jobs` threads (>= 1), the longest compilations first. A kernel that fails is reported and the others
// go on. Kernels that were already there count as hits, and are recorded as such; those
// that no accepted compiler made are made again and replaced, where `compiler` is accepted and the cabinet can be
// written. What another process is making comes last, and is found then: processes that warm one cabinet at once share
// the work, whatever their order. `cabinet` may be null: then nothing is looked up or stored (persist = off). Once
// `*stop` is set no further kernel is begun or waited for, and those in work are finished; a signal handler may set it.
// `stop` may be null. The same happens once a kernel finds no room: those that follow would be compiled in vain.
Report warm(const Plan& plan, jit::Compiler& compiler, cache::Cabinet* cabinet, int jobs, const Progress& progress,
            const std::atomic<bool>* stop = nullptr, const Sharing& sharing = {});

// Looks once more for all that the cabinet was found or made to hold. What is gone again is stored no longer, and
// `persist_problem` says whether the cabinet evicted it, to keep within its limits, or somebody removed it. warm() does
// that when it has compiled something.
void look_for_gone(Report& report, const cache::Cabinet& cabinet);

// What of a plan a cabinet does not hold whole.
struct Missing {
  std::int64_t kernels = 0;
  std::string unreadable;  // why the first of them that is there cannot be read, or is damaged; empty when none is
};

Missing look_for_missing(const Plan& plan, const cache::Cabinet& cabinet);

}  // namespace cubinet::warmup
