// What a listing and the index consist of: entries with their use, and coverage records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/key.hpp"
#include "cache/object.hpp"

namespace cubinet::cache {

// An entry without its payload: what its object's footer says, and how it is used.
struct Entry {
  Key key;
  Facts facts;
  std::int64_t bytes = 0;      // size of the object file
  std::int64_t last_used = 0;  // seconds since 1970; 0: not used since it was stored
  std::int64_t hits = 0;
  std::string record;
  bool pinned = false;  // never evicted
  bool in_use = false;  // a running process has loaded it; not evicted
};

// Describes an object file of `bytes` bytes. `used`, if any, gives its hits and last use.
inline Entry make_entry(const Key& key, std::int64_t bytes, const Object& object, const Entry* used = nullptr) {
  return {.key = key,
          .facts = object.facts,
          .bytes = bytes,
          .last_used = used == nullptr ? 0 : used->last_used,
          .hits = used == nullptr ? 0 : used->hits,
          .record = object.record};
}

// Something that cannot be read for lack of permission or because of a disk error. It may be sound, so it stays.
struct Unreadable {
  std::string name;  // the key of an object, or a folder in objects/: the first two digits of its keys
  std::string reason;
};

// A coverage record: this root, with its layers, holds every entry that the subject needs.
struct Coverage {
  // What the root is complete for: canonical JSON, so that the same subject has the same text. The cabinet does not
  // interpret it.
  std::string subject;
  std::vector<Key> keys;      // of the entries that the subject needs; ascending
  std::int64_t recorded = 0;  // when it was written, in seconds since 1970

  friend bool operator==(const Coverage&, const Coverage&) = default;
};

// The index keeps this many coverage records, the latest ones.
inline constexpr std::int64_t max_coverages = 64;

}  // namespace cubinet::cache
