#include "cache/bundle_writer.hpp"

#include <fmt/format.h>

#include "cache/compression.hpp"

namespace cubinet::cache {

Expected<void> BundleWriter::add(const Key& key, const Object& object) {
  if (entries_.contains(key)) return {};
  if (!fits_bundle(object.facts.arch)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the entry {} has no architecture's name that a bundle can hold: '{}'", key.hex(),
                            object.facts.arch));
  }
  const auto footer = encode_footer(key, object);
  if (!footer) return propagate(footer);
  const std::uint64_t object_bytes = object.payload.size() + footer->size();
  auto blob = compress(object.payload + *footer);
  if (!blob) return propagate(blob);
  if (entries_.size() == max_bundle_entries || objects_bytes_ + object_bytes > max_bundle_bytes ||
      blobs_bytes_ + blob->size() > max_bundle_bytes) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("a bundle holds at most {} entries, and 4 GiB of them", max_bundle_entries));
  }
  objects_bytes_ += object_bytes;
  blobs_bytes_ += blob->size();
  const BundleRow row{key, util::sha256(*blob), 0, blob->size(), object_bytes, object.facts.arch};
  entries_.emplace(key, Packed{row, std::move(*blob)});
  return {};
}

std::vector<std::string> BundleWriter::finish(const std::optional<SigningKey>& key) && {
  std::vector<BundleRow> rows;
  for (const auto& [_, packed] : entries_) rows.push_back(packed.row);
  std::vector<std::string> pieces{encode_bundle_front(rows, key.has_value())};
  if (key) pieces.push_back(key->sign(pieces.front()));
  for (auto& [_, packed] : entries_) pieces.push_back(std::move(packed.blob));
  return pieces;
}

}  // namespace cubinet::cache
