// Records in the cabinet what an engine uses: entries in use, hits and misses, and the problems that it asked for.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cache/cabinet.hpp"
#include "cubinet/cubinet.hpp"
#include "jit/asked_problems.hpp"
#include "util/threads.hpp"

namespace cubinet::jit {

// The entries of one load.
struct Uses {
  std::vector<cache::Key> found;
  std::vector<cache::Key> compiled;
  std::vector<cache::Key> refused;  // missing, and not compiled because of the miss policy
};

// Writes to the cabinet on a background thread, so that no caller waits. If the cabinet cannot be written or memory
// runs out, records are lost without an error. Thread-safe.
class UsageRecorder {
 public:
  // `cabinet` may be null: then nothing is recorded. Both outlive the calls of the recorder.
  UsageRecorder(cache::Cabinet* cabinet, util::BackgroundThread& background)
      : cabinet_(cabinet), background_(background) {}

  // Marks the entries as in use at once. The hits and misses are written later.
  void note(const Uses& uses) noexcept;
  // The same for one entry, which was found or compiled.
  void note(const cache::Key& key, bool compiled) noexcept;

  // Records the problems. One that was noted before, over a range of M that contains this one, costs only a look-up in
  // memory.
  void note_asked(const std::vector<ProblemRange>& problems, const std::string& architecture) noexcept;

  // Writes pending records.
  void flush() noexcept;

 private:
  void write_uses();
  void write_asked();

  cache::Cabinet* cabinet_;
  util::BackgroundThread& background_;
  std::mutex mutex_;                     // guards the next two
  std::unique_ptr<cache::Lease> lease_;  // for loaded entries; null if none is loaded, or they cannot be evicted
  Uses unwritten_;
  AskedProblems asked_;
};

}  // namespace cubinet::jit
