// Choosing between entries of one key, see Preference in cabinet.hpp.
#pragma once

#include <optional>
#include <utility>

#include "cache/cabinet.hpp"

namespace cubinet::cache {

inline std::optional<int> rank(const Preference& preference, const Facts& facts) {
  return preference ? preference(facts) : 0;
}

// Whether an entry with the facts `next` is to take the place of one with the facts `present`.
inline bool is_better(const Preference& preference, const Facts& next, const Facts& present) {
  if (!preference) return false;
  const auto offered = preference(next);
  const auto held = preference(present);
  return offered && (!held || *offered < *held);
}

// The best of the objects that were offered, of equal ones the first. `preference` must outlive it.
class BestObject {
 public:
  explicit BestObject(const Preference& preference) : preference_(preference) {}
  void offer(Object object) {
    const auto offered = rank(preference_, object.facts);
    if (!offered || (object_ && *offered >= rank_)) return;
    object_ = std::move(object);
    rank_ = *offered;
  }
  // Whether no further object can take its place.
  [[nodiscard]] bool is_settled() const { return object_ && rank_ <= 0; }
  std::optional<Object> take() { return std::move(object_); }

 private:
  const Preference& preference_;
  std::optional<Object> object_;
  int rank_ = 0;
};

}  // namespace cubinet::cache
