// Builds bundles field by field, so that a test can make any single field wrong.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "cache/bundle_transfer.hpp"
#include "cache/compression.hpp"
#include "unit/cache/support.hpp"

namespace cubinet::test {

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
  return out;
}

inline std::string raw_digest(std::string_view bytes) {
  const auto digest = util::sha256(bytes);
  return {digest.begin(), digest.end()};
}

// The bytes of an object's file in a root.
inline std::string object_file(const cache::Object& object) {
  return object.payload + cache::encode_footer(key_of(object.record), object).value();
}

struct RawRow {
  std::string key;
  std::string digest;
  std::uint64_t offset = 0;
  std::uint64_t blob_bytes = 0;
  std::uint64_t object_bytes = 0;
  std::string arch;
};

struct RawBundle {
  std::string magic = "cubinetB";
  std::uint64_t version = 1;
  std::uint64_t rows_said = 0;
  std::uint64_t blobs_said = 0;
  std::vector<RawRow> rows;
  std::string blobs;
  std::string signature;
  std::uint64_t signature_said = 0;
  bool right_check = true;

  // Adds an entry: `blob` holds an object of `object_bytes` bytes.
  void add(const std::string& key, const std::string& blob, std::uint64_t object_bytes,
           const std::string& arch = "sm_90a") {
    rows.push_back({key, raw_digest(blob), blobs.size(), blob.size(), object_bytes, arch});
    blobs += blob;
    rows_said = rows.size();
    blobs_said = blobs.size();
  }

  [[nodiscard]] std::string bytes() const {
    std::string out = magic + little_endian(version, 4) + little_endian(signature_said, 4) +
                      little_endian(rows_said, 8) + little_endian(blobs_said, 8);
    for (const RawRow& row : rows) {
      out += row.key + row.digest + little_endian(row.offset, 8) + little_endian(row.blob_bytes, 8) +
             little_endian(row.object_bytes, 8) + row.arch + std::string(16 - row.arch.size(), '\0');
    }
    out += right_check ? raw_digest(out) : std::string(32, 'x');
    return out + signature + blobs;
  }
};

inline std::string raw_key(const std::string& record) { return raw_digest(record); }

// Entries 0 .. count - 1, in the order of their keys.
inline RawBundle raw_bundle(int count) {
  std::vector<cache::Object> objects;
  for (int i = 0; i < count; ++i) objects.push_back(object_of(i));
  std::sort(objects.begin(), objects.end(),
            [](const auto& a, const auto& b) { return key_of(a.record) < key_of(b.record); });
  RawBundle bundle;
  for (const cache::Object& object : objects) {
    const std::string file = object_file(object);
    bundle.add(raw_key(object.record), cache::compress(file).value(), file.size());
  }
  return bundle;
}

// The same bundle as this build writes it.
inline std::string written_bundle(const std::vector<int>& numbers, const std::optional<cache::SigningKey>& key = {}) {
  cache::BundleWriter writer;
  for (const int number : numbers) {
    if (!writer.add(key_of(number), object_of(number))) throw std::runtime_error("an entry is refused");
  }
  std::string bytes;
  for (const std::string& piece : std::move(writer).finish(key)) bytes += piece;
  return bytes;
}

// Reads a whole bundle as if from a file of these bytes. Returns the first error in it.
inline Expected<std::vector<cache::Object>> read_bundle(std::string_view bytes) {
  const auto head = cache::BundleContents::parse_head(bytes, bytes.size());
  if (!head) return propagate(head);
  const auto front = static_cast<std::size_t>(head->front_bytes());
  const auto contents = cache::BundleContents::parse(std::string(bytes.substr(0, front)), bytes.size());
  if (!contents) return propagate(contents);
  std::vector<cache::Object> objects;
  for (std::uint64_t i = 0; i < contents->size(); ++i) {
    const auto row = contents->row(i);
    auto object = cache::decode_blob(bytes.substr(front + row.offset, row.blob_bytes), row);
    if (!object) return propagate(object);
    objects.push_back(std::move(*object));
  }
  return objects;
}

// Ed25519 keys of RFC 8032, section 7.1, tests 1 and 2, as OpenSSL writes them.
inline constexpr const char* private_pem =
    "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
    "-----END PRIVATE KEY-----\n";
inline constexpr const char* public_pem =
    "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
    "-----END PUBLIC KEY-----\n";
inline constexpr const char* other_private_pem =
    "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7\n"
    "-----END PRIVATE KEY-----\n";

struct Keys {
  Keys() {
    write_file(folder / "private.pem", private_pem);
    write_file(folder / "public.pem", public_pem);
    write_file(folder / "other.pem", other_private_pem);
  }
  [[nodiscard]] cache::SigningKey signing() const { return cache::SigningKey::read(folder / "private.pem").value(); }
  [[nodiscard]] cache::SigningKey other() const { return cache::SigningKey::read(folder / "other.pem").value(); }
  [[nodiscard]] cache::VerifyKey verify() const { return cache::VerifyKey::read(folder / "public.pem").value(); }
  [[nodiscard]] std::filesystem::path public_file() const { return folder / "public.pem"; }
  TempFolder folder;
};

}  // namespace cubinet::test
