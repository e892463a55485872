// The cabinet: compiled kernels on disk. Files are the truth; SQLite is an index over them that
// can be rebuilt. Knows nothing of CUDA: a payload is bytes, a record is text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/key.hpp"
#include "util/expected.hpp"

namespace cubinet::cache {

// Facts about an entry that are not part of its identity. Stored in the object's footer, so that the
// index can be rebuilt from the objects alone.
struct Facts {
  std::string family;
  std::string arch;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int32_t registers = 0;
  std::int32_t spill_bytes = 0;
  std::int32_t smem_bytes = 0;      // shared memory that a launch asks for, static and dynamic
  double compile_ms = 0;
  std::int64_t created = 0;         // seconds since 1970, UTC
  std::vector<std::string> kernel_names;  // entry points in the payload
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
  std::int64_t bytes = 0;       // of the object file
  std::int64_t last_used = 0;   // seconds since 1970, 0: never since it was made
  std::int64_t hits = 0;
  std::string record;
};

struct Stats {
  std::int64_t entries = 0;
  std::int64_t bytes = 0;
  std::int64_t hits = 0;
  std::int64_t quarantined = 0;   // damaged files that were set aside
  double compile_ms = 0;          // what the entries cost to make, together
};

struct VerifyReport {
  std::int64_t checked = 0;
  std::vector<std::string> damaged;   // keys (hex) or file names whose bytes are not what was stored
  std::int64_t orphans = 0;           // objects without an index row
  std::int64_t missing = 0;           // index rows without an object
  std::int64_t leftovers = 0;         // files in tmp/ that a killed writer left
};

enum class Persistence { on, readonly, off };

// One root folder. Thread-safe. Cheap to keep open; holds no lock and no open file between calls.
class Cabinet {
 public:
  // Opens `root`; with `create`, makes it (mode 0700) when it is missing or empty. A folder that is
  // neither empty nor marked as a cabinet is refused and left alone (cache_unusable). A root of our
  // format that cannot be written opens read-only.
  static Expected<Cabinet> open(const std::filesystem::path& root, bool create);
  Cabinet(Cabinet&&) noexcept;
  Cabinet& operator=(Cabinet&&) noexcept;
  ~Cabinet();

  [[nodiscard]] const std::filesystem::path& root() const;
  [[nodiscard]] Persistence persistence() const;

  // The entry, if it is there and whole: size, digest, key and record are checked on the bytes that are
  // returned. A damaged file is moved to quarantine/ and answered as a miss. Touches no SQLite.
  [[nodiscard]] std::optional<Object> find(const Key& key, std::string_view record) const;

  // Stores an entry: temporary file, fsync, rename, fsync of the folder, then the index row. The first
  // publisher wins; a second one of the same key is a success that changes nothing. A failed index row
  // is not an error. On an error nothing is left behind and the caller's bytes stay good.
  Expected<void> publish(const Key& key, const Object& object);

  // Adds one hit at the present time to each key, in one transaction. Best effort.
  void record_hits(const std::vector<Key>& keys);

  // The index. Rebuilds it from the objects first when it is missing, damaged or of another version.
  Expected<std::vector<Entry>> list();
  // Entries whose key starts with the given hexadecimal digits.
  Expected<std::vector<Entry>> match(std::string_view key_prefix);
  Expected<Stats> stats();
  // Reads every object and compares it with its footer and with the index; with `repair` sets damaged
  // objects aside, adds missing rows, drops dangling ones and removes leftovers.
  Expected<VerifyReport> verify(bool repair);
  // Removes object and row. not_found when there is neither.
  Expected<void> remove(const Key& key);

 private:
  struct State;
  explicit Cabinet(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cubinet::cache
