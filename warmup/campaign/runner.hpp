// Compiles the kernels of a plan that a cabinet lacks.
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
  std::int64_t stored = 0;    // those of `compiled` that the cabinet holds now
  std::int64_t replaced = 0;  // those of `stored` that replaced an entry of an unaccepted compiler
  std::int64_t hits = 0;
  std::vector<cache::Key> stored_keys;  // `stored` keys
  std::vector<cache::Key> hit_keys;     // `hits` keys
  std::int64_t shared = 0;              // those of `hits` that another process or thread compiled during this run
  jit::CompilerCounts compilers;        // the compilers of all kernels that were compiled or hit
  std::vector<Failure> failed;          // in the order of the plan
  // Keys of the kernels that were not started, or not waited for, because `stop` was set or there was no room, and of
  // those whose result could not be recorded because memory was short; in the order of the plan.
  std::vector<std::string> remaining;
  double seconds = 0;
  // on: all compiled kernels are stored; readonly: the cabinet cannot be written; off: there is no cabinet, or a kernel
  // could not be stored, or a stored one was removed again.
  cache::Persistence persist = cache::Persistence::on;
  std::string persist_problem;  // why the first such entry is not stored; empty if all are
  bool no_room = false;         // the reason was ErrorCode::no_room, which ended the run
};

enum class Outcome { compiled, there, failed };  // there: a hit

// The progress of a run after one kernel.
struct Step {
  std::int64_t done = 0;  // number of kernels done, including this one
  std::int64_t total = 0;
  const jit::KernelSpec& latest;
  Outcome outcome = Outcome::compiled;
};

// Called after each kernel, from one thread at a time. Exceptions are ignored.
using Progress = std::function<void(const Step& step)>;

// How a run behaves when other processes warm the same cabinet.
struct Sharing {
  // How long to wait for a kernel that another process is compiling, when nothing else is left to do. After that it is
  // compiled here too.
  std::chrono::milliseconds patience = jit::claim_patience;
  // Called several times a second while a kernel is waited for, with the number of the process that compiles it, or 0
  // if that is unknown. Not called for waits for threads of this process. Called from any thread, also from several at
  // once. Exceptions are ignored.
  std::function<void(std::int64_t holder)> waits;
};

// Looks up every kernel of the plan and compiles the missing ones, `jobs` (>= 1) at once, longest compilations first.
//   - A kernel that fails is reported; the others continue.
//   - A kernel that is present counts as a hit, and the hit is recorded. If an unaccepted compiler compiled it, and
//     `compiler` is accepted and the cabinet can be written, it is compiled again and replaced.
//   - A kernel that another process is compiling is looked up again at the end. So processes that warm one cabinet at
//     the same time share the work.
//   - `cabinet` may be null: then nothing is looked up or stored (persist = off).
//   - After `*stop` is set (a signal handler may do that; `stop` may be null), running compilations are finished and no
//     other kernel is started or waited for. The same happens when the cabinet has no room (ErrorCode::no_room),
//     because the remaining kernels could not be stored either.
Report warm(const Plan& plan, jit::Compiler& compiler, cache::Cabinet* cabinet, int jobs, const Progress& progress,
            const std::atomic<bool>* stop = nullptr, const Sharing& sharing = {});

// Checks that the cabinet still holds every kernel of the report. A missing one no longer counts as stored, and
// `persist_problem` says whether it was evicted or removed otherwise. warm() calls this after it has compiled
// something.
void look_for_gone(Report& report, const cache::Cabinet& cabinet);

// The kernels of a plan that a cabinet does not hold, or holds damaged.
struct Missing {
  std::int64_t kernels = 0;
  std::string unreadable;  // why the first that is present cannot be read, or that it is damaged; empty if none is
};

Missing look_for_missing(const Plan& plan, const cache::Cabinet& cabinet);

}  // namespace cubinet::warmup
