// The objects: files under objects/, the truth of a cabinet. No SQLite here.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "cache/cabinet.hpp"
#include "cache/layer.hpp"
#include "cache/layout.hpp"
#include "util/files.hpp"
#include "util/system_calls.hpp"

namespace cubinet::cache {

// Whether an error of ObjectStore::read tells of damage.
inline bool is_damage(const Error& error) { return error.code == ErrorCode::invalid_argument; }

// Stateless but for its options: thread-safe, fork-safe.
class ObjectStore final : public Layer {
 public:
  // With `own_files_only` an object that is not the caller's alone cannot be read.
  ObjectStore(Layout layout, util::SystemCalls& calls, bool own_files_only = false)
      : layout_(std::move(layout)), calls_(calls), own_files_only_(own_files_only) {}

  [[nodiscard]] Expected<Object> read(const Key& key) const override;

  // See Cabinet::publish; without the row. already_there: the entry is there, whole. A damaged one is replaced, and so
  // is a whole one of whose facts `replaces` says so; it is asked right before that.
  using Replaces = std::function<bool(const Facts&)>;
  Expected<util::Published> publish(const Key& key, const Object& object, const Replaces& replaces = {}) const;

  // Moves a damaged object to quarantine/. Puts it back when a whole one turns out to have taken its place meanwhile.
  // True: a damaged one is gone from its place. io: it could not be moved, or was gone already.
  Expected<bool> set_damaged_aside(const Key& key) const;
  // The same for a name from Listing::strangers. False when it is still there.
  [[nodiscard]] bool set_stranger_aside(const std::string& name) const;

  // Removes an object durably. False when there was none.
  Expected<bool> remove(const Key& key) const;
  // The same, but a power failure may bring it back, whole.
  Expected<bool> evict(const Key& key) const;

  [[nodiscard]] bool exists(const Key& key) const override;
  // Bytes of the file; 0 when there is none, or something else than a file.
  [[nodiscard]] std::int64_t size(const Key& key) const;
  // What lies under objects/. Sizes as from size(), names relative to it. io: objects/ itself cannot be listed.
  [[nodiscard]] Expected<Listing> list() const override;

  // Counts the files in tmp/ that no living writer holds and that were written at `until` or earlier; removes them if
  // asked.
  [[nodiscard]] std::int64_t leftovers(bool remove,
                                       std::int64_t until = std::numeric_limits<std::int64_t>::max()) const;

 private:
  [[nodiscard]] Expected<void> make_shard(const std::filesystem::path& shard) const;
  [[nodiscard]] Expected<std::optional<Facts>> facts(const Key& key) const;

  Layout layout_;
  util::SystemCalls& calls_;
  bool own_files_only_;
};

}  // namespace cubinet::cache
