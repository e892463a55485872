// The object files under objects/. They are the truth of a cabinet. Does not use SQLite.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "cache/layer.hpp"
#include "cache/layout.hpp"
#include "util/files.hpp"
#include "util/system_calls.hpp"

namespace cubinet::cache {

// Whether an error of Layer::read means damage.
inline bool is_damage(const Error& error) { return error.code == ErrorCode::invalid_argument; }

// Has no state besides its options. Thread-safe, fork-safe.
class ObjectStore final : public Layer {
 public:
  // With `own_files_only` an object cannot be read unless it belongs to the caller and others may not write it.
  ObjectStore(Layout layout, util::SystemCalls& calls, bool own_files_only = false)
      : layout_(std::move(layout)), calls_(calls), own_files_only_(own_files_only) {}

  [[nodiscard]] Expected<Object> read(const Key& key) const override;

  // Stores an object as Cabinet::publish does, without the row. already_there: a sound entry exists. A damaged one is
  // replaced, and so is a sound one if `replaces` returns true for its facts; it is called right before that.
  using Replaces = std::function<bool(const Facts&)>;
  Expected<util::Published> publish(const Key& key, const Object& object, const Replaces& replaces = {}) const;

  // Moves a damaged object to quarantine/. If a sound object has replaced it meanwhile, moves that back. True: a
  // damaged object was moved. io: it could not be moved, or had been removed already.
  Expected<bool> set_damaged_aside(const Key& key) const;
  // Moves a file of Listing::strangers to quarantine/. False when it is still there.
  [[nodiscard]] bool set_stranger_aside(const std::string& name) const;

  // Removes an object durably. False when there was none.
  Expected<bool> remove(const Key& key) const;
  // Removes an object, but a loss of power may bring it back, whole.
  Expected<bool> evict(const Key& key) const;

  [[nodiscard]] bool exists(const Key& key) const override;
  // Size of the file in bytes; 0 when there is none, or when it is not a regular file.
  [[nodiscard]] std::int64_t size(const Key& key) const;
  // Lists objects/: sizes as from size(), names relative to it. io: objects/ itself cannot be listed.
  [[nodiscard]] Expected<Listing> list() const override;

  // Counts the files in tmp/ that no running writer holds and that were written at `until` or earlier; with `remove`
  // also removes them.
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
