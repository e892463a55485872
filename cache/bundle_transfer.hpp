// Entries of a cabinet into a bundle, and a bundle's entries into a cabinet.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cache/bundle.hpp"
#include "cache/cabinet.hpp"
#include "cache/signature.hpp"

namespace cubinet::cache {

struct ExportReport {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;         // of the bundle
  std::uint64_t object_bytes = 0;  // of the objects in it
};

// Makes a bundle of these entries of the cabinet's first root, whole and durable, in the place of a file that is there.
// Errors, with nothing written: those of Cabinet::load for an entry that is not there, damaged or unreadable;
// those of BundleWriter::add; io and invalid_argument as from util::replace_file.
Expected<ExportReport> export_bundle(const Cabinet& cabinet, const std::vector<Key>& keys,
                                     const std::filesystem::path& file, const std::optional<SigningKey>& key);

struct ImportReport {
  std::uint64_t imported = 0;
  std::uint64_t there = 0;    // were in the root before, and are as they were
  std::uint64_t evicted = 0;  // are in it no longer: with them it was over its limits
  std::uint64_t bytes = 0;    // of the objects that were imported
};

// Publishes a bundle's entries in `root`, which is made when it is missing. Reads and checks every one of them before
// it touches the root, so that a damaged bundle changes nothing (invalid_argument). Other errors are those of
// Cabinet::open and Cabinet::publish; what was published before such a one stays.
Expected<ImportReport> import_bundle(const Bundle& bundle, const std::filesystem::path& root,
                                     Surroundings surroundings = {});

// The architectures that a bundle has entries of, ascending.
std::vector<std::string> architectures(const BundleContents& contents);

}  // namespace cubinet::cache
