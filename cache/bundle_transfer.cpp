#include "cache/bundle_transfer.hpp"

#include <fmt/format.h>

#include <set>

#include "cache/bundle_writer.hpp"
#include "util/files.hpp"

namespace cubinet::cache {
namespace {

Expected<void> check_all(const Bundle& bundle) {
  for (std::uint64_t i = 0; i < bundle.contents().size(); ++i) {
    if (const auto object = bundle.read_row(i); !object) return propagate(object);
  }
  return {};
}

// One entry of a bundle that was checked, once more: the file may have changed since. False: it was there.
Expected<bool> import_row(const Bundle& bundle, std::uint64_t i, Cabinet& cabinet) {
  const Key key = bundle.contents().row(i).key;
  const auto object = bundle.read_row(i);
  if (!object) return propagate(object);
  if (!cabinet.takes(key, object->facts)) return false;
  if (auto published = cabinet.publish(key, *object); !published) return propagate(published);
  return true;
}

// What is in the cabinet after all of it: each entry may have had others evicted. `imported` says which were.
ImportReport report_on(const BundleContents& contents, const std::vector<bool>& imported, const Cabinet& cabinet) {
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

Expected<ExportReport> export_bundle(const Cabinet& cabinet, const std::vector<Key>& keys,
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

Expected<ImportReport> import_bundle(const Bundle& bundle, const std::filesystem::path& root,
                                     Surroundings surroundings) {
  if (auto whole = check_all(bundle); !whole) return propagate(whole);
  if (bundle.contents().size() == 0) return ImportReport{};
  auto cabinet = Cabinet::open(root, true, surroundings);
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
  return report_on(bundle.contents(), imports, *cabinet);
}

std::vector<std::string> architectures(const BundleContents& contents) {
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < contents.size(); ++i) names.insert(contents.row(i).arch);
  return {names.begin(), names.end()};
}

}  // namespace cubinet::cache
