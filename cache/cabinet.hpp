// The cabinet: compiled kernels on disk. Files are the truth; SQLite is an index over them that
// can be rebuilt. Knows nothing of CUDA: a payload is bytes, a record is text.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/claim.hpp"
#include "cache/counters.hpp"
#include "cache/key.hpp"
#include "cache/lease.hpp"
#include "cache/limits.hpp"
#include "cache/recorded_problems.hpp"
#include "util/clock.hpp"
#include "util/expected.hpp"
#include "util/system_calls.hpp"

namespace cubinet::cache {

// Facts about an entry that are not part of its identity. Stored in the object's footer, so that the
// index can be rebuilt from the objects alone.
struct Facts {
  std::string family;
  std::string arch;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::string config;  // what tells kernels of one family, n and k apart; empty in objects of earlier builds
  std::int32_t registers = 0;
  std::int32_t spill_bytes = 0;
  std::int32_t smem_bytes = 0;  // shared memory that a launch asks for, static and dynamic
  double compile_ms = 0;
  std::int64_t created = 0;               // seconds since 1970, UTC
  std::vector<std::string> kernel_names;  // entry points in the payload
  // What made the payload, exactly: a compiler's name and build. The cabinet does not look into it. Empty in objects of
  // earlier builds.
  std::string compiler{};

  friend bool operator==(const Facts&, const Facts&) = default;
};

struct Object {
  std::string payload;
  std::string record;
  Facts facts;
};

// A row of the index.
struct Entry {
  Key key;
  Facts facts;
  std::int64_t bytes = 0;      // of the object file
  std::int64_t last_used = 0;  // seconds since 1970, 0: never since it was made
  std::int64_t hits = 0;
  std::string record;
  bool pinned = false;  // never evicted
  bool in_use = false;  // a living process has it loaded; not evicted
};

// What the cabinet is complete for: a subject, and the entries that it takes. The cabinet does not look into the
// subject.
struct Coverage {
  std::string subject;        // canonical JSON: the same subject has the same text
  std::vector<Key> keys;      // ascending
  std::int64_t recorded = 0;  // seconds since 1970

  friend bool operator==(const Coverage&, const Coverage&) = default;
};

// So many of them are kept, the latest.
inline constexpr std::int64_t max_coverages = 64;

// What cannot be read, for want of permission or by an error of the disk: nobody knows what it is worth, and it stays.
struct Unreadable {
  std::string name;  // the key of an object, or a folder in objects/: the first two digits of its keys
  std::string reason;
};

struct Stats {
  std::int64_t entries = 0;
  std::int64_t bytes = 0;
  std::int64_t hits = 0;
  std::int64_t quarantined = 0;       // damaged objects that were set aside
  std::int64_t quarantine_files = 0;  // all that lies in quarantine/, damaged indexes too
  std::int64_t quarantine_bytes = 0;
  double compile_ms = 0;                          // what the entries cost to make, together
  std::map<std::string, std::int64_t> compilers;  // how many entries each has made; empty: not recorded
  std::int64_t damaged = 0;                       // files in objects/ that look damaged, see Survey
  std::vector<Unreadable> unreadable;
  std::string index_problem;  // why the index could not be read, else empty: hits and counters are not known then
  Counters counters;
  std::vector<Coverage> coverage;  // those of whose entries none is missing, the latest first
};

// Entries, and what stood in the way of a whole listing.
struct Survey {
  std::vector<Entry> entries;
  // Keys or names in objects/, as in VerifyReport. Of an object that has a sound row the size alone is looked at.
  std::vector<std::string> damaged;
  std::vector<Unreadable> unreadable;  // there may be entries in it
  std::string index_problem;           // why the index could not be read: hits and last_used are not known then, and 0
  std::string kept_problem;  // why pins or uses could not be read: pinned and in_use are not known then, and false
};

// Why an entry is evicted: it was not used for too long, or the root holds too many or too much.
enum class EvictionReason : std::uint8_t { age, entries, bytes };

struct Eviction {
  Entry entry;
  EvictionReason reason = EvictionReason::bytes;
};

// See retention.hpp.
struct Decision {
  std::vector<Eviction> evictions;
  std::int64_t entries_left = 0;
  std::int64_t bytes_left = 0;
  bool over = false;  // what is left is over a limit still: it is pinned or in use, or could not be removed
};

// What a collection did, or would do.
struct Collection {
  Decision decision;
  std::int64_t leftovers = 0;    // files in tmp/ that a killed writer left a day ago or longer
  std::int64_t quarantined = 0;  // damaged files that were set aside 30 days ago or longer
  std::string problem;           // why something that was to go is there still; it is none of the evictions
  std::string index_problem;     // why rows could not be removed; the next listing drops them
};

struct Removal {
  std::string index_problem;  // why the row could not be removed; the next listing drops it
};

struct VerifyReport {
  std::int64_t checked = 0;
  // Keys (hex), or names in objects/ (or problems/NAME), of files whose bytes are not what was stored.
  std::vector<std::string> damaged;
  std::vector<Unreadable> unreadable;
  std::int64_t orphans = 0;      // whole objects without an index row that describes them
  std::int64_t missing = 0;      // index rows without an object
  std::vector<Key> orphan_keys;  // which these are, ascending
  std::vector<Key> missing_keys;
  std::int64_t leftovers = 0;  // files in tmp/ that a killed writer left
  std::int64_t unmended = 0;   // of `damaged`, those that a repair could not set aside; 0 without a repair
  std::string index_problem;   // why the index could not be read as it is; every object is an orphan then,
  bool index_busy = false;     // except when another process held it all the time: it was not compared then,
  bool index_unused = false;   // or when it is left alone: a newer build's, or without locks; `index_problem` says why
  std::string index_unmended;  // why a repair could not put the rows right; empty when it could, and without one
};

enum class Persistence { on, readonly, off };

// "on", "readonly" or "off".
std::string_view persistence_name(Persistence persistence);

// Where an entry that is published comes from: it was missed and compiled, or copied from another place.
enum class Origin : std::uint8_t { compiled, copied };

// How good an entry of a key is for this process. Lower is better, 0: nothing is better. Nothing: this process cannot
// use the entry; a look-up passes it by, which is no damage. Must be pure and thread-safe.
using Preference = std::function<std::optional<int>(const Facts&)>;

// What a cabinet needs of the world outside; tests bring their own. The references must outlive the cabinet.
struct Surroundings {
  const util::Clock& clock = util::system_clock();
  util::SystemCalls& calls = util::system_calls();
  std::chrono::milliseconds index_patience{5000};  // for an index that another process holds, see index.hpp
  Limits limits = default_limits;                  // of the root, for those who publish into it
  bool promote = false;  // whether what record_hits() is told of and a layer alone has is copied to the root
  std::filesystem::path bundle_key{};  // the public key that bundles must be signed with to be layers; empty: none
  Preference preference{};             // between entries of one key that differ in their facts; null: all are 0
};

struct Stack;

// One root folder, and layers under it that are read alone. Thread-safe, and usable on both sides of a fork. Cheap to
// keep open; holds no lock between calls, and no open file but the bundles among its layers. Who may own and write a
// root: see root.hpp.
class Cabinet {
 public:
  // Opens `root`; with `create`, makes it (mode 0700) when it is missing or empty. A folder that is
  // neither empty nor marked as a cabinet is refused and left alone (cache_unusable). A root of our
  // format that cannot be written opens read-only. Nothing there and no `create`: not_found.
  static Expected<Cabinet> open(const std::filesystem::path& root, bool create, Surroundings surroundings = {});
  // Opens `root` (empty: none) and adds the layers. What cannot be opened is told in the stack's problems and done
  // without: if it is the root, the first layer that opens takes its place, and nothing can be stored. An error, the
  // first one, when nothing opens.
  static Expected<Stack> open_stack(const std::filesystem::path& root, bool create,
                                    const std::vector<std::filesystem::path>& layers, Surroundings surroundings = {});
  Cabinet(Cabinet&&) noexcept;
  Cabinet& operator=(Cabinet&&) noexcept;
  ~Cabinet();

  [[nodiscard]] const std::filesystem::path& root() const;
  // on or readonly; `off` is for those who work without a cabinet.
  [[nodiscard]] Persistence persistence() const;
  // Why it is readonly; empty when it is not.
  [[nodiscard]] const std::string& readonly_reason() const;
  // What was done that the caller did not ask for, in one line: the cabinet lies in a subfolder of the one that was
  // named. Else empty.
  [[nodiscard]] const std::string& notice() const;

  // Adds a further root, or a bundle (bundle.hpp), that find() and holds() search after the ones before it. It is read
  // and no more: nothing in it is made, moved, locked or indexed, and what is damaged there is a miss and stays. All
  // else that a cabinet does is about its first root alone. Errors as from open() without `create`; of a bundle as from
  // Bundle::open, and when Surroundings::bundle_key is named and cannot be read. Not thread-safe: before the cabinet is
  // shared.
  Expected<void> add_layer(const std::filesystem::path& path);

  // The entry, if it is there and whole: size, digest, key and record are checked on the bytes that are
  // returned. A damaged file is moved to quarantine/, counted, and answered as a miss. Touches no SQLite. Goes through
  // the root and the layers in order: the first entry that the preference ranks 0, else the best of those that it
  // ranks, of equal ones the first.
  [[nodiscard]] std::optional<Object> find(const Key& key, std::string_view record) const;
  // As find(), and also what the preference says that this process cannot use: to say why a look-up missed.
  [[nodiscard]] std::optional<Object> find_any(const Key& key, std::string_view record) const;
  // Whether find() answers for the record that the key is the digest of. As thorough as find(), and as costly.
  [[nodiscard]] bool holds(const Key& key) const;
  // Whether there is something under its name in the first root, whole or not.
  [[nodiscard]] bool exists(const Key& key) const;
  // How many damaged files find() and holds() have set aside.
  [[nodiscard]] std::int64_t set_aside() const;

  // Whether publish() would store an entry with these facts: the root has no whole one of the key, or a worse one.
  [[nodiscard]] bool takes(const Key& key, const Facts& facts) const;

  // Tries to be the one that makes the entry, see claim.hpp. Does not wait. Neither mine nor taken where the root
  // cannot be written or locked: make the entry all the same.
  [[nodiscard]] Claim claim(const Key& key) const;

  // Stores an entry: temporary file, fsync, rename, fsync of the folder, then the index row. The first
  // publisher wins; a second one of the same key is a success that changes nothing, unless the preference ranks its
  // entry better than the one that is there: then it takes its place by a rename, and whoever looks meanwhile finds the
  // one or the other, whole. A failed index row is not an error. On an error nothing is left behind and the caller's
  // bytes stay good: cache_unusable for a read-only root, invalid_argument when `key` is not SHA-256(object.record) or
  // a part is out of bounds (see object_format.hpp), io or no_room with the system's reason. What was compiled counts
  // as a miss and a compilation; what was copied as used now, so that its age elsewhere has it evicted no earlier. Who
  // brings the root over its limits evicts what was used least recently, until it is a tenth below them.
  Expected<void> publish(const Key& key, const Object& object, Origin origin = Origin::copied);

  // Counts kernels that were found, and adds one hit at the present time to each one's entry; kernels that had to be
  // made or refused, and were not published. Each in one transaction, off the path of a look-up. Best effort: what
  // cannot be written now is kept in memory, and written with what is counted next or at the end of the cabinet.
  void record_hits(const std::vector<Key>& keys);
  void record_misses(const std::vector<Key>& keys);

  // Evicts what decide() says (retention.hpp), and removes old leftovers from tmp/ and quarantine/. With `dry_run`
  // nothing on disk changes in any way, and the index must be fit to be read as it is. Several at once, beside readers
  // and writers, are safe: who looks for an evicted entry misses. cache_unusable for a read-only root, unless it is a
  // dry run; io when pins, uses or the index cannot be read: nothing is evicted then.
  Expected<Collection> collect(const Limits& limits, bool dry_run);

  // Keeps an entry from every eviction, or no longer. A pin lasts until it is taken back or the entry is removed by
  // name, and does not depend on the index or on whether there is such an entry. pin() waits, for a while, until a
  // collection that is under way has ended. not_found: there is no such entry now, though the pin is set; there was no
  // pin to take back. cache_unusable for a read-only root.
  Expected<void> pin(const Key& key);
  Expected<void> unpin(const Key& key);

  // For the entries that this process loads; see lease.hpp. Null for a read-only root. The cabinet's surroundings must
  // outlive it, and the cabinet, too.
  [[nodiscard]] std::unique_ptr<Lease> lease() const;

  // The whole objects, sorted by key. Rebuilds the index from them first when it is missing, damaged or of another
  // version (hits and last_used start anew then), and brings it in line with the objects that are there. When the index
  // cannot be used at all (held by another process, a full disk) the objects alone answer. Changes nothing in objects/.
  // With a prefix: those whose key starts with these hexadecimal digits, in either case; invalid_argument for other
  // characters.
  Expected<Survey> survey(std::string_view key_prefix = {});
  // The entries of a survey, for those who need no more.
  Expected<std::vector<Entry>> list();
  Expected<std::vector<Entry>> match(std::string_view key_prefix);
  // The same, and nothing on disk changes in any way: where the index is not fit to be read as it is the objects alone
  // answer.
  [[nodiscard]] Expected<Survey> survey_unchanged() const;
  // The object of the first root, when every byte is as it was stored; changes nothing. not_found: there is none.
  // invalid_argument: it is damaged, with the reason. io: it cannot be read.
  [[nodiscard]] Expected<Object> load(const Key& key) const;
  // What evictions removed from the first root and nobody has missed since, ascending, as far as it is remembered.
  // Changes nothing. io when the index does not answer.
  [[nodiscard]] Expected<std::vector<Key>> evicted() const;
  // Whether load() answers; errors as from it.
  [[nodiscard]] Expected<void> check(const Key& key) const;
  Expected<Stats> stats();
  // The same of a survey of the whole cabinet that was just taken.
  Stats stats(const Survey& survey);

  // What the cabinet was said to be complete for, the latest first. The entries may be gone since: ask holds() for
  // each. io when the index does not answer.
  Expected<std::vector<Coverage>> coverage();
  // Says at the present time that the cabinet holds every entry which the subject takes, in the place of what was said
  // of this subject before. cache_unusable for a read-only root, not_found when an entry is gone again, io when the
  // index does not answer.
  Expected<void> record_coverage(const std::string& subject, std::vector<Key> keys);
  // Takes back what was said in these, as coverage() answered them. What another process has said of one of the
  // subjects since stays. Best effort.
  void drop_coverage(const std::vector<Coverage>& coverages);

  // Records that these were asked for at the present time. Where all is recorded already it reads one small file each
  // and writes nothing. cache_unusable for a read-only root, at once; else as a write into the root fails.
  Expected<void> record_problems(const std::vector<RecordedProblem>& asked);
  // Of the first root; a bundle has none. io when problems/ cannot be listed.
  [[nodiscard]] Expected<RecordedProblems> recorded_problems() const;
  // False: there was no record of the subject. cache_unusable for a read-only root.
  Expected<bool> forget_problem(const std::string& subject);

  // Reads every object and compares it with its footer and with the index, and reads problems/; with `repair` sets
  // damaged files aside, adds missing rows, drops dangling ones and removes leftovers. Without `repair` nothing on disk
  // changes in any way. The report tells what was found, before repairs, and what they left. An index that another
  // process holds is no damage; it is then neither compared nor mended.
  Expected<VerifyReport> verify(bool repair);
  // Removes object, row and pin. not_found when there is neither; cache_unusable for a read-only root; io, too, when
  // there is no object and the index does not answer.
  Expected<Removal> remove(const Key& key);

 private:
  struct State;
  explicit Cabinet(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct Stack {
  Cabinet cabinet;
  std::vector<std::string> problems;  // of a root or layers that could not be opened, in their order
};

}  // namespace cubinet::cache
