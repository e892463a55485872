// What a Cabinet holds, for the files that implement it: cabinet.cpp (opening, look-ups, storing), survey.cpp (listings
// and figures), verifying.cpp.
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
#include "cache/root.hpp"

namespace cubinet::cache {

struct Cabinet::State {
  State(Root opened, Surroundings outside)
      : root(std::move(opened)),
        calls(root.giving ? *root.giving : outside.calls),
        surroundings(outside),
        clock(outside.clock),
        store(root.layout, calls),
        index(root.layout, calls, outside.index_patience) {}

  [[nodiscard]] bool writable() const { return root.persistence == Persistence::on; }
  // cache_unusable with the reason when nothing can be written here.
  [[nodiscard]] Expected<void> require_writable() const;
  // The whole object in the root, else in the first layer that has it. Damage is set aside in a root that can be
  // written.
  [[nodiscard]] std::optional<Object> read(const Key& key) const;
  // Whether there is a file of it anywhere, whole or not.
  [[nodiscard]] bool exists(const Key& key) const;

  Root root;
  util::SystemCalls& calls;
  Surroundings surroundings;
  const util::Clock& clock;
  ObjectStore store;
  Index index;
  std::vector<std::unique_ptr<Layer>> layers;
  mutable std::atomic<std::int64_t> set_aside = 0;  // what read() has
};

}  // namespace cubinet::cache
