// Choosing between entries of one key. Entries of one key differ in their facts, for example in their compiler.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "cache/object.hpp"

namespace cubinet::cache {

// Ranks an entry for this process: a lower rank is better, and 0 is the best. Returns nullopt for an entry that this
// process cannot use; a look-up skips it and does not treat it as damaged. Must be pure and thread-safe. An empty
// function ranks every entry 0.
using Preference = std::function<std::optional<int>(const Facts&)>;

inline std::optional<int> rank(const Preference& preference, const Facts& facts) {
  return preference ? preference(facts) : 0;
}

// Whether an entry with the facts `next` is to replace one with the facts `present`.
inline bool is_better(const Preference& preference, const Facts& next, const Facts& present) {
  if (!preference) return false;
  const auto offered = preference(next);
  const auto held = preference(present);
  return offered && (!held || *offered < *held);
}

// Keeps the best of the objects passed to it; of equal ones the first. `preference` must outlive it.
class BestObject {
 public:
  explicit BestObject(const Preference& preference) : preference_(preference) {}
  void offer(Object object) {
    const auto offered = rank(preference_, object.facts);
    if (!offered || (object_ && *offered >= rank_)) return;
    object_ = std::move(object);
    rank_ = *offered;
  }
  // Whether no further object can be better.
  [[nodiscard]] bool is_settled() const { return object_ && rank_ <= 0; }
  std::optional<Object> take() { return std::move(object_); }

 private:
  const Preference& preference_;
  std::optional<Object> object_;
  int rank_ = 0;
};

}  // namespace cubinet::cache
