// The cabinet as an engine uses it: find kernels on disk, store new ones, count hits and misses. Files are the truth;
// SQLite is an index over them that can be rebuilt. Knows nothing of CUDA: a payload is bytes, a record is text.
// What operators do with a cabinet (list, verify, evict, pin, remove) is in maintenance.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/claim.hpp"
#include "cache/kept_entries.hpp"
#include "cache/key.hpp"
#include "cache/object.hpp"
#include "cache/options.hpp"
#include "cache/recorded_problems.hpp"
#include "util/expected.hpp"

namespace cubinet::cache {

struct CabinetState;
struct OpenedCabinet;

// Where a published entry comes from: it was missed and compiled here, or copied from elsewhere.
enum class Origin : std::uint8_t { compiled, copied };

// One root folder, and layers that are searched after it and never written. Thread-safe, and usable on both sides of a
// fork. Keeping it open costs little: between calls it holds no lock and no open file, except the bundles among its
// layers. root.hpp says who may own and write a root.
class Cabinet {
 public:
  // Opens `root`; with `create`, makes it (mode 0700) when it is missing or empty. cache_unusable: the folder is
  // neither empty nor marked as a cabinet; it is not changed. not_found: the folder is missing or empty, and `create`
  // is false. A valid root that cannot be written is opened read-only.
  static Expected<Cabinet> open(const std::filesystem::path& root, bool create, CabinetOptions options = {});
  // Opens `root` (empty: none), and `layers`: further roots, or bundles (bundle.hpp), which find() and holds() search
  // after it in this order. A layer is only read: nothing in it is created, moved, locked or indexed; a damaged object
  // there is a miss and stays. Every other call works only on the first root. Places that cannot be opened are left out
  // and reported in `problems` of the result. If that is the root, the first layer that opens takes its place, and
  // nothing can be stored. An error, the first one, when nothing opens.
  static Expected<OpenedCabinet> open_stack(const std::filesystem::path& root, bool create,
                                            const std::vector<std::filesystem::path>& layers,
                                            CabinetOptions options = {});
  Cabinet(Cabinet&&) noexcept;
  Cabinet& operator=(Cabinet&&) noexcept;
  ~Cabinet();

  [[nodiscard]] const std::filesystem::path& root() const;
  // `on` or `readonly`, never `off`.
  [[nodiscard]] Persistence persistence() const;
  // Why the root is read-only; empty if it is not.
  [[nodiscard]] const std::string& readonly_reason() const;
  // One line for the user when the cabinet lies in a subfolder of the folder that was named; else empty.
  [[nodiscard]] const std::string& notice() const;

  // Returns the entry if it is there and sound: size, digest, key and record are checked on the bytes that are
  // returned. A damaged file is moved to quarantine/, counted, and reported as a miss. Does not use SQLite. Searches
  // the root and the layers in order and returns the first entry that the preference ranks 0, else the best that it
  // ranks; of equal ones the first.
  [[nodiscard]] std::optional<Object> find(const Key& key, std::string_view record) const;
  // As find(), and also returns an entry that this process cannot use according to the preference: to explain a miss.
  [[nodiscard]] std::optional<Object> find_any(const Key& key, std::string_view record) const;
  // Whether find() would return an entry for the record whose digest is `key`. As thorough and as costly as find().
  [[nodiscard]] bool holds(const Key& key) const;
  // Number of damaged files that find() and holds() have moved to quarantine.
  [[nodiscard]] std::int64_t set_aside() const;

  // Whether publish() would store an entry with these facts: the root has no sound entry of the key, or a worse one.
  [[nodiscard]] bool takes(const Key& key, const Facts& facts) const;

  // Tries to obtain the right to compile the entry, without waiting; see claim.hpp. The claim is neither held nor taken
  // if the root cannot be written or locked: compile without it then.
  [[nodiscard]] Claim claim(const Key& key) const;

  // Stores an entry: temporary file, fsync, rename, fsync of the folder, then the index row. The first publisher of a
  // key wins; a second one succeeds and changes nothing, unless the preference ranks its entry better than the stored
  // one: then a rename replaces that, and a concurrent reader finds one or the other, whole. A failed index row is not
  // an error. Errors leave nothing behind: cache_unusable for a read-only root; invalid_argument when `key` is not the
  // SHA-256 of object.record, or a part is out of bounds (object_format.hpp); io or no_room with the system's reason. A
  // compiled entry counts as a miss and a compilation. A copied entry counts as used now, so that it is not evicted
  // because of its age elsewhere. A write that exceeds a limit evicts the least recently used entries, down to nine
  // tenths of the limit.
  Expected<void> publish(const Key& key, const Object& object, Origin origin = Origin::copied);

  // record_hits: counts kernels that were found, and adds one hit at the current time to each entry. record_misses:
  // counts kernels that had to be compiled or were refused, and were not published. Each is one transaction; call it
  // outside the path of a look-up. Best effort: what cannot be written now is kept in memory, and written with the next
  // counts or when the cabinet is destroyed.
  void record_hits(const std::vector<Key>& keys);
  void record_misses(const std::vector<Key>& keys);

  // Records that these problems were asked for now. Reads one small file for each, and writes nothing when all of them
  // are recorded with their ranges and less than a day old. cache_unusable for a read-only root; errors as from
  // cache::record_problems.
  Expected<void> record_problems(const std::vector<RecordedProblem>& asked);

  // Returns a lease for the entries that this process loads; see kept_entries.hpp. Null for a read-only root. The
  // cabinet, and the clock and system calls of its options, must outlive it.
  [[nodiscard]] std::unique_ptr<Lease> lease() const;

 private:
  friend class Maintenance;
  explicit Cabinet(std::shared_ptr<CabinetState> state);
  std::shared_ptr<CabinetState> state_;
};

struct OpenedCabinet {
  Cabinet cabinet;
  std::vector<std::string> problems;  // why the root or a layer could not be opened, in their order
};

}  // namespace cubinet::cache
