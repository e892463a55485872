// Exports entries of a cabinet to a bundle, and imports a bundle's entries into a cabinet.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cache/bundle.hpp"
#include "cache/maintenance.hpp"
#include "cache/signature.hpp"

namespace cubinet::cache {

// Builds a bundle in memory. Its bytes depend only on its entries, the signing key and the version of zstd (see
// compression.hpp), not on the order of adding, the time, the use of the entries, or an index.
class BundleWriter {
 public:
  // Adding a key again changes nothing. invalid_argument when a cabinet could not store the entry either
  // (object_format.hpp), when its architecture's name does not fit a row, or when the bundle would exceed a bound.
  Expected<void> add(const Key& key, const Object& object);

  [[nodiscard]] std::uint64_t entries() const { return entries_.size(); }
  [[nodiscard]] std::uint64_t object_bytes() const { return objects_bytes_; }

  // Returns the bundle in pieces to be concatenated. The writer is empty afterwards.
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

struct ExportReport {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;         // size of the bundle
  std::uint64_t object_bytes = 0;  // size of the objects in it, uncompressed
};

// Writes a bundle of these entries of the cabinet's first root, whole and durable; it replaces an existing file. On an
// error nothing is written: those of Maintenance::load for an entry that is not there, damaged or unreadable; those of
// BundleWriter::add; io and invalid_argument as from util::replace_file.
Expected<ExportReport> export_bundle(const Maintenance& cabinet, const std::vector<Key>& keys,
                                     const std::filesystem::path& file, const std::optional<SigningKey>& key);

struct ImportReport {
  std::uint64_t imported = 0;
  std::uint64_t there = 0;    // were in the root already, and are unchanged
  std::uint64_t evicted = 0;  // were evicted again, because the root exceeded its limits
  std::uint64_t bytes = 0;    // size of the objects that were imported
};

// Publishes a bundle's entries in `root`, which is created when it is missing. Reads and checks every entry before it
// touches the root, so that a damaged bundle changes nothing (invalid_argument). Other errors are those of
// Cabinet::open and Cabinet::publish; what was published before such an error stays.
Expected<ImportReport> import_bundle(const Bundle& bundle, const std::filesystem::path& root,
                                     CabinetOptions options = {});

// Returns the architectures that a bundle has entries for, ascending.
std::vector<std::string> architectures(const BundleContents& contents);

}  // namespace cubinet::cache
