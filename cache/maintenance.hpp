// The cabinet as an operator uses it: list, measure, verify, evict, pin, remove, and the coverage records. Engines do
// not need this; see cabinet.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/cabinet.hpp"
#include "cache/counters.hpp"
#include "cache/entry.hpp"
#include "cache/retention.hpp"

namespace cubinet::cache {

// A listing of the entries, and why it may be incomplete.
struct Survey {
  std::vector<Entry> entries;  // sorted by key
  // Damaged files: keys, or names in objects/ that are not keys. For an object with a sound row only the size is
  // checked.
  std::vector<std::string> damaged;
  std::vector<Unreadable> unreadable;  // may hold entries
  std::string index_problem;  // why the index could not be read, else empty; hits and last_used are unknown then, and 0
  // Why pins or leases could not be read, else empty; pinned and in_use are unknown then, and false.
  std::string kept_problem;
};

struct Stats {
  std::int64_t entries = 0;
  std::int64_t bytes = 0;
  std::int64_t hits = 0;              // sum over the present entries
  std::int64_t quarantined = 0;       // damaged objects in quarantine/
  std::int64_t quarantine_files = 0;  // everything in quarantine/, including damaged indexes
  std::int64_t quarantine_bytes = 0;
  double compile_ms = 0;                          // sum over the entries
  std::map<std::string, std::int64_t> compilers;  // number of entries by compiler; empty text: not recorded
  std::int64_t damaged = 0;                       // as in Survey
  std::vector<Unreadable> unreadable;
  std::string index_problem;  // why the index could not be read, else empty; hits and counters are unknown then
  Counters counters;
  std::vector<Coverage> coverage;  // the records whose entries are all present, the latest first
};

// What a collection did, or would do.
struct Collection {
  Decision decision;
  std::int64_t leftovers = 0;    // files in tmp/ that a killed writer left at least a day ago
  std::int64_t quarantined = 0;  // damaged files that were moved to quarantine at least 30 days ago
  std::string problem;           // why an entry could not be removed, else empty; it is not among the evictions
  std::string index_problem;     // why rows could not be removed, else empty; the next listing removes them
};

struct Removal {
  std::string index_problem;  // why the row could not be removed, else empty; the next listing removes it
};

// What a verification found before any repair, and what a repair left.
struct VerifyReport {
  std::int64_t checked = 0;
  // Files whose bytes are not as they were stored: keys, or names in objects/, or problems/NAME.
  std::vector<std::string> damaged;
  std::vector<Unreadable> unreadable;
  std::int64_t orphans = 0;      // sound objects without a matching index row
  std::int64_t missing = 0;      // index rows without an object
  std::vector<Key> orphan_keys;  // ascending
  std::vector<Key> missing_keys;
  std::int64_t leftovers = 0;  // files in tmp/ that a killed writer left
  std::int64_t not_moved = 0;  // number of `damaged` files that a repair could not move to quarantine
  // Why the index could not be read without changing it, else empty. Every object counts as an orphan then, unless
  // index_busy or index_unused says that the index was not compared.
  std::string index_problem;
  bool index_busy = false;         // another process held the index all the time
  bool index_unused = false;       // a newer build has written the index, or its file system has no locks
  std::string index_not_repaired;  // why a repair could not correct the rows, else empty
};

// Works on the first root of a cabinet, or on the bundle in its place. Thread-safe. Shares what the cabinet has open.
class Maintenance {
 public:
  explicit Maintenance(const Cabinet& cabinet) : state_(cabinet.state_) {}
  // As Cabinet::open without `create`.
  static Expected<Maintenance> open(const std::filesystem::path& root, CabinetOptions options = {});

  [[nodiscard]] const std::filesystem::path& root() const;
  [[nodiscard]] Persistence persistence() const;

  // Lists the sound objects. Rebuilds the index from them first when it is missing, damaged or of another version (hits
  // and last_used are lost then), and corrects rows that differ from the objects. If the index cannot be used at all
  // (locked by another process, disk full), only the objects are read. Changes nothing in objects/. With a prefix: only
  // keys that start with these hexadecimal digits, in either case; invalid_argument for other characters.
  Expected<Survey> survey(std::string_view key_prefix = {});
  // Lists the same and changes nothing on disk; an index that would have to be repaired is not used.
  [[nodiscard]] Expected<Survey> survey_unchanged() const;
  Expected<Stats> stats();
  // Computes the same from a survey of the whole cabinet that was just taken.
  Stats stats(const Survey& survey);

  // Returns the object when every byte is as it was stored. Changes nothing. not_found: there is none.
  // invalid_argument: it is damaged, with the reason. io: it cannot be read.
  [[nodiscard]] Expected<Object> load(const Key& key) const;
  // Checks what load() would return; the same errors.
  [[nodiscard]] Expected<void> check(const Key& key) const;
  // Whether there is a file of this key, sound or not.
  [[nodiscard]] bool exists(const Key& key) const;
  // Reads every object, compares it with its footer and with the index, and reads problems/. With `repair` moves
  // damaged files to quarantine, adds missing rows, deletes dangling ones and removes leftovers; without, changes
  // nothing on disk. An index that another process holds is not damage: it is neither compared nor repaired.
  Expected<VerifyReport> verify(bool repair);
  // Removes object, row and pin. not_found: there is neither object nor row. cache_unusable: the root is read-only. io:
  // the object cannot be removed, or there is none and the index cannot be read.
  Expected<Removal> remove(const Key& key);

  // Evicts the entries that decide() (retention.hpp) returns, and removes old files from tmp/ and quarantine/. With
  // `dry_run` changes nothing on disk, and fails when the index would have to be repaired. Several collections at once,
  // beside readers and writers, are safe: a look-up of an evicted entry misses. cache_unusable for a read-only root,
  // unless it is a dry run; io when pins, leases or the index cannot be read: nothing is evicted then.
  Expected<Collection> collect(const Limits& limits, bool dry_run);
  // Returns the evicted keys that have not been missed since, ascending, as far as they are remembered. Changes
  // nothing. io: the index cannot be read.
  [[nodiscard]] Expected<std::vector<Key>> evicted() const;

  // pin() protects an entry from every eviction; unpin() ends that. A pin lasts until it is removed or the entry is
  // removed by name; it does not depend on the index or on the entry's existence. pin() waits, up to the index
  // patience, for a running collection to end. not_found: pin: there is no such entry now, though the pin is set;
  // unpin: there was no pin. cache_unusable for a read-only root.
  Expected<void> pin(const Key& key);
  Expected<void> unpin(const Key& key);

  // Returns the coverage records, the latest first. Their entries may have been removed since: check each with
  // Cabinet::holds(). io: the index cannot be read.
  Expected<std::vector<Coverage>> coverage();
  // Records that the cabinet holds every entry that the subject needs, in place of an earlier record of the subject.
  // cache_unusable: the root is read-only. not_found: an entry has been removed. io: the index cannot be written.
  Expected<void> record_coverage(const std::string& subject, std::vector<Key> keys);
  // Deletes these records, which coverage() returned. A record that another process has replaced since stays. Best
  // effort.
  void drop_coverage(const std::vector<Coverage>& coverages);

  // Returns the problems that engines have recorded in the root; a bundle has none. io when problems/ cannot be listed.
  [[nodiscard]] Expected<RecordedProblems> recorded_problems() const;
  // Removes a recorded problem. False: there was none of the subject. cache_unusable for a read-only root.
  Expected<bool> forget_problem(const std::string& subject);

 private:
  std::shared_ptr<CabinetState> state_;
};

}  // namespace cubinet::cache
