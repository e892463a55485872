#include "cache/bundle_transfer.hpp"

#include <fmt/format.h>

#include <set>

#include "cache/compression.hpp"
#include "util/files.hpp"

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

namespace {

Expected<void> check_all(const Bundle& bundle) {
  for (std::uint64_t i = 0; i < bundle.contents().size(); ++i) {
    if (const auto object = bundle.read_row(i); !object) return propagate(object);
  }
  return {};
}

// Imports one entry. Checks it once more, since the file may have changed. False: the root has it already.
Expected<bool> import_row(const Bundle& bundle, std::uint64_t i, Cabinet& cabinet) {
  const Key key = bundle.contents().row(i).key;
  const auto object = bundle.read_row(i);
  if (!object) return propagate(object);
  if (!cabinet.takes(key, object->facts)) return false;
  if (auto published = cabinet.publish(key, *object); !published) return propagate(published);
  return true;
}

// Reports what is in the cabinet after the import: storing an entry may have evicted others.
ImportReport report_on(const BundleContents& contents, const std::vector<bool>& imported, const Maintenance& cabinet) {
  ImportReport report;
  for (std::uint64_t i = 0; i < contents.size(); ++i) {
    const BundleRow row = contents.row(i);
    if (!cabinet.exists(row.key)) {
      ++report.evicted;
    } else if (imported[i]) {
      ++report.imported;
      report.bytes += row.object_bytes;
    } else {
      ++report.there;
    }
  }
  return report;
}

}  // namespace

Expected<ExportReport> export_bundle(const Maintenance& cabinet, const std::vector<Key>& keys,
                                     const std::filesystem::path& file, const std::optional<SigningKey>& key) {
  BundleWriter writer;
  for (const Key& each : keys) {
    const auto object = cabinet.load(each);
    if (!object) return propagate(object);
    if (auto added = writer.add(each, *object); !added) return propagate(added);
  }
  ExportReport report{writer.entries(), 0, writer.object_bytes()};
  const std::vector<std::string> pieces = std::move(writer).finish(key);
  for (const std::string& piece : pieces) report.bytes += piece.size();
  auto written = util::replace_file(util::system_calls(), file, {pieces.begin(), pieces.end()});
  if (!written) return propagate(written);
  return report;
}

Expected<ImportReport> import_bundle(const Bundle& bundle, const std::filesystem::path& root, CabinetOptions options) {
  if (auto whole = check_all(bundle); !whole) return propagate(whole);
  if (bundle.contents().size() == 0) return ImportReport{};
  auto cabinet = Cabinet::open(root, true, options);
  if (!cabinet) return propagate(cabinet);
  std::vector<bool> imports;
  for (std::uint64_t i = 0; i < bundle.contents().size(); ++i) {
    auto imported = import_row(bundle, i, *cabinet);
    if (imported) {
      imports.push_back(*imported);
      continue;
    }
    Error error = std::move(imported.error());
    error.message += fmt::format("; {} of {} entries are in the cabinet", i, bundle.contents().size());
    return fail(std::move(error));
  }
  return report_on(bundle.contents(), imports, Maintenance(*cabinet));
}

std::vector<std::string> architectures(const BundleContents& contents) {
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < contents.size(); ++i) names.insert(contents.row(i).arch);
  return {names.begin(), names.end()};
}

}  // namespace cubinet::cache
