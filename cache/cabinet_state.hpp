// What a Cabinet holds, for the files that implement it: cabinet.cpp (opening, look-ups, storing), survey.cpp (listings
// and figures), counting.cpp (hits and misses), collecting.cpp (limits and pins), verifying.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cache/cabinet.hpp"
#include "cache/index.hpp"
#include "cache/layer.hpp"
#include "cache/object_store.hpp"
#include "cache/preference.hpp"
#include "cache/retention.hpp"
#include "cache/root.hpp"
#include "cache/tally.hpp"

namespace cubinet::cache {

struct Cabinet::State {
  State(Root opened, Surroundings outside, std::unique_ptr<Layer> bundle_in_its_place = nullptr)
      : root(std::move(opened)),
        calls(root.giving ? *root.giving : outside.calls),
        surroundings(outside),
        clock(outside.clock),
        store(root.layout, calls, root.own_files_only),
        bundle(std::move(bundle_in_its_place)),
        index(root.layout, calls, outside.index_patience),
        limits(outside.limits),
        promote(outside.promote) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  // Writes what was counted.
  ~State();

  [[nodiscard]] bool writable() const { return root.persistence == Persistence::on; }
  // cache_unusable with the reason when nothing can be written here.
  [[nodiscard]] Expected<void> require_writable() const;
  // The same before something is made in the root, with all of it in its place: see restore_root.
  [[nodiscard]] Expected<void> require_whole() const;
  // What is searched first.
  [[nodiscard]] const Layer& first() const {
    if (bundle) return *bundle;
    return store;
  }
  // See Cabinet::find. Damage is set aside in a root that can be written.
  [[nodiscard]] std::optional<Object> read(const Key& key) const;
  [[nodiscard]] std::optional<Object> read(const Key& key, const Preference& preference) const;
  // Offers what the layers have, until nothing is better.
  void offer_layers(const Key& key, BestObject& best) const;
  // Stores it in the root, see Cabinet::publish; without the row.
  [[nodiscard]] Expected<util::Published> store_object(const Key& key, const Object& object) const;
  // Whether there is a file of it anywhere, whole or not.
  [[nodiscard]] bool exists(const Key& key) const;

  // See Cabinet::survey and survey_unchanged; of all entries, and without saying which are pinned or in use.
  enum class Looking : std::uint8_t { mends, changes_nothing };
  [[nodiscard]] Expected<Survey> take_survey(Looking looking) const;
  // Says which are. io when that cannot be read.
  [[nodiscard]] Expected<void> mark_kept(std::vector<Entry>& entries) const;
  // Changes the index, and adds what was counted meanwhile. Where that fails the counts are kept for the next time.
  Expected<Totals> write(IndexChange change) const;
  // What the index has counted, after adding what this process has.
  [[nodiscard]] Expected<Counters> counters() const;
  // The object in the root; with `promote` else from a layer, after storing it in the root.
  [[nodiscard]] std::optional<Object> read_or_promote(const Key& key) const;
  Fate evict(const Entry& entry, Collection& collection, IndexChange& change) const;
  void write_evictions(Collection& collection, IndexChange change) const;
  // See Cabinet::collect.
  [[nodiscard]] Expected<Collection> collect(const Limits& within, bool dry_run) const;
  // Collects, if it is due by how large the root is.
  void keep_within_limits(const Totals& totals) const;
  // How large the root is, by its objects: for where no index can be used.
  [[nodiscard]] Totals measure() const;

  Root root;
  util::SystemCalls& calls;
  Surroundings surroundings;
  const util::Clock& clock;
  ObjectStore store;
  std::unique_ptr<Layer> bundle;  // in the place of the root, of which nothing is there then; else null
  Index index;
  std::vector<std::unique_ptr<Layer>> layers;
  mutable std::atomic<std::int64_t> set_aside = 0;  // what read() has
  Limits limits;
  bool promote;
  mutable Tally tally;
  // Before this moment (milliseconds of the steady clock) a collection would find nothing to evict.
  mutable std::atomic<std::int64_t> next_collection = 0;
};

}  // namespace cubinet::cache
