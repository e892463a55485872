// The state that Cabinet and Maintenance share. Implemented by cabinet.cpp (look-ups, storing, counting),
// maintenance.cpp (listings, figures) and collecting.cpp (limits).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cache/index.hpp"
#include "cache/layer.hpp"
#include "cache/maintenance.hpp"
#include "cache/object_store.hpp"
#include "cache/preference.hpp"
#include "cache/retention.hpp"
#include "cache/root.hpp"

namespace cubinet::cache {

// Returns the keys that have a row and no object. Checks the file of each again, since an object may have been stored
// after the listing.
std::vector<Key> dangling(const Index::Rows& rows, const Layer::Listing& listing, const Layer& place);

struct CabinetState {
  CabinetState(Root opened, CabinetOptions given, std::unique_ptr<Layer> bundle_in_its_place = nullptr)
      : root(std::move(opened)),
        calls(root.chowning ? *root.chowning : given.calls),
        options(given),
        clock(given.clock),
        store(root.layout, calls, root.own_files_only),
        bundle(std::move(bundle_in_its_place)),
        index(root.layout, calls, given.index_patience) {}
  CabinetState(const CabinetState&) = delete;
  CabinetState& operator=(const CabinetState&) = delete;
  // Writes the pending counters.
  ~CabinetState();

  [[nodiscard]] bool writable() const { return root.persistence == Persistence::on; }
  // cache_unusable with the reason when nothing can be written here.
  [[nodiscard]] Expected<void> require_writable() const;
  // The same, and puts back missing parts of the root, before something is created in it; see restore_root.
  [[nodiscard]] Expected<void> require_whole() const;
  // The layer that is searched first: the root, or the bundle in its place.
  [[nodiscard]] const Layer& first() const {
    if (bundle) return *bundle;
    return store;
  }
  // Implements Cabinet::find. Moves a damaged object to quarantine in a writable root.
  [[nodiscard]] std::optional<Object> read(const Key& key) const;
  [[nodiscard]] std::optional<Object> read(const Key& key, const Preference& preference) const;
  // Adds the layers' entries of the key to the candidates, until one has the best rank.
  void offer_layers(const Key& key, BestObject& best) const;
  // Implements Cabinet::publish without the row.
  [[nodiscard]] Expected<util::Published> store_object(const Key& key, const Object& object) const;
  // Whether the root or a layer has a file of the key, sound or not.
  [[nodiscard]] bool exists(const Key& key) const;

  // Implements Maintenance::survey and survey_unchanged, for all entries and without pinned and in_use.
  enum class SurveyMode : std::uint8_t { updates_index, changes_nothing };
  [[nodiscard]] Expected<Survey> take_survey(SurveyMode mode) const;
  // Fills in pinned and in_use. io when pins or leases cannot be read.
  [[nodiscard]] Expected<void> mark_kept(std::vector<Entry>& entries) const;
  // Changes the index and adds the pending counters. When that fails they stay pending.
  Expected<Totals> write(IndexChange change) const;
  // Returns the index's counters after adding the pending ones.
  [[nodiscard]] Expected<Counters> counters() const;
  // Returns the object of the root; with options.promote, else the object of a layer, after storing it in the root.
  [[nodiscard]] std::optional<Object> read_or_promote(const Key& key) const;
  EvictionOutcome evict(const Entry& entry, Collection& collection, IndexChange& change) const;
  void write_evictions(Collection& collection, IndexChange change) const;
  // Implements Maintenance::collect.
  [[nodiscard]] Expected<Collection> collect(const Limits& within, bool dry_run) const;
  // Collects if the root, of this size, exceeds its limits.
  void keep_within_limits(const Totals& totals) const;
  // Measures the root by its objects, for file systems where no index can be used.
  [[nodiscard]] Totals measure() const;

  Root root;
  util::SystemCalls& calls;
  CabinetOptions options;
  const util::Clock& clock;
  ObjectStore store;
  std::unique_ptr<Layer> bundle;  // in place of the root, which then has no folder; else null
  Index index;
  std::vector<std::unique_ptr<Layer>> layers;
  mutable std::atomic<std::int64_t> set_aside = 0;  // damaged files that read() has moved to quarantine
  mutable PendingCounters pending;
  // Before this time (milliseconds of the steady clock) a collection would find nothing to evict.
  mutable std::atomic<std::int64_t> next_collection = 0;
};

}  // namespace cubinet::cache
