// Making a bundle. What it holds decides every byte of it: neither the order in which entries are added nor when, how
// often they were used or what an index says. (One thing more does: the version of zstd, see compression.hpp.)
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cache/bundle_format.hpp"
#include "cache/signature.hpp"

namespace cubinet::cache {

class BundleWriter {
 public:
  // Adding a key again changes nothing. invalid_argument when the entry could not be stored in a cabinet either
  // (object_format.hpp), its architecture's name is none, or the bundle would be over a bound.
  Expected<void> add(const Key& key, const Object& object);

  [[nodiscard]] std::uint64_t entries() const { return entries_.size(); }
  [[nodiscard]] std::uint64_t object_bytes() const { return objects_bytes_; }

  // The bundle, in pieces that are to be put together; it is the writer's no more.
  [[nodiscard]] std::vector<std::string> finish(const std::optional<SigningKey>& key) &&;

 private:
  struct Packed {
    BundleRow row;
    std::string blob;
  };
  std::map<Key, Packed> entries_;
  std::uint64_t blobs_bytes_ = 0;
  std::uint64_t objects_bytes_ = 0;
};

}  // namespace cubinet::cache
