// Checks what must hold for any bytes that are read as a bundle.
#pragma once

#include <stdexcept>
#include <string>

#include "unit/cache/bundle_builder.hpp"

namespace cubinet::test {

// Corrects the check and the digests of the blobs, as far as the head can be read. Without this, every random change
// would be refused because of a wrong digest.
inline std::string resealed(std::string bytes) {
  const auto head = cache::BundleContents::parse_head(bytes, bytes.size());
  if (!head) return bytes;
  const auto front = static_cast<std::size_t>(head->front_bytes());
  for (std::size_t i = 0; i < head->rows; ++i) {
    const std::size_t row = cache::bundle_head_bytes + i * cache::bundle_row_bytes;
    const auto number = [&](std::size_t at) {
      std::uint64_t value = 0;
      for (std::size_t byte = 8; byte-- > 0;) value = value << 8U | static_cast<std::uint8_t>(bytes[row + at + byte]);
      return value;
    };
    const std::uint64_t offset = number(64), length = number(72);
    if (offset > head->blobs_bytes || length > head->blobs_bytes - offset) continue;
    bytes.replace(row + 32, 32, raw_digest(std::string_view(bytes).substr(front + offset, length)));
  }
  const std::size_t check = front - head->signature_bytes - 32;
  bytes.replace(check, 32, raw_digest(std::string_view(bytes).substr(0, check)));
  return bytes;
}

// Reads the bytes as a bundle. Returns whether they were accepted. Throws std::logic_error if they were accepted and an
// object is not sound or is not found under its own key, and if they were refused without a reason.
inline bool probe_bundle(const std::string& bytes) {
  const auto objects = read_bundle(bytes);
  if (!objects) {
    if (objects.error().message.empty()) throw std::logic_error("refused without a reason");
    return false;
  }
  const auto head = cache::BundleContents::parse_head(bytes, bytes.size()).value();
  const auto contents = cache::BundleContents::parse(bytes.substr(0, head.front_bytes()), bytes.size()).value();
  for (std::size_t i = 0; i < objects->size(); ++i) {
    const cache::Key key = key_of((*objects)[i].record);
    const auto row = contents.find(key);
    if (!row || row->key != contents.row(i).key) throw std::logic_error("an entry is not found under its key");
    if (!cache::encode_footer(key, (*objects)[i])) throw std::logic_error("an object is read that cannot be stored");
  }
  return true;
}

}  // namespace cubinet::test
