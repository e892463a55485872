// What a cabinet learns from an engine: which entries are in use, hits and misses, and the problems that it asked for.
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

// The entries that one load concerned.
struct Uses {
  std::vector<cache::Key> found;
  std::vector<cache::Key> compiled;
  std::vector<cache::Key> refused;  // missing, and not to be compiled
};

// Writes to the cabinet on a background thread, so that no caller waits. A cabinet that cannot be written, and memory
// that runs out, cost the records and are no error. Thread-safe.
class UsageRecorder {
 public:
  // `cabinet` may be null: then nothing is recorded. Both outlive the recorder's calls.
  UsageRecorder(cache::Cabinet* cabinet, util::BackgroundThread& background)
      : cabinet_(cabinet), background_(background) {}

  // Marks the entries as in use at once; the hits and misses are written later.
  void note(const Uses& uses) noexcept;
  // The same for one entry, which was found or compiled.
  void note(const cache::Key& key, bool compiled) noexcept;

  // Problems that were noted before, over a range of M that holds this one, cost a look-up in memory.
  void note_asked(const std::vector<ProblemRange>& problems, const std::string& architecture) noexcept;

  // Writes what has been noted and is not written yet.
  void flush() noexcept;

 private:
  void write_uses();
  void write_asked();

  cache::Cabinet* cabinet_;
  util::BackgroundThread& background_;
  std::mutex mutex_;                     // guards the next two
  std::unique_ptr<cache::Lease> lease_;  // of the loaded entries; null where nobody can evict them, or none is loaded
  Uses unwritten_;
  AskedProblems asked_;
};

}  // namespace cubinet::jit
