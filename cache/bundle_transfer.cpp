#include "cache/bundle_transfer.hpp"

#include <fmt/format.h>

#include <set>

#include "cache/bundle_writer.hpp"
#include "util/files.hpp"

namespace cubinet::cache {
namespace {

Expected<void> check_all(const Bundle& bundle) {
  for (std::uint64_t i = 0; i < bundle.contents().size(); ++i) {
    if (const auto object = bundle.read_row(i); !object) return tl::make_unexpected(object.error());
  }
  return {};
}

// One entry of a bundle that was checked, once more: the file may have changed since.
Expected<void> import_row(const Bundle& bundle, std::uint64_t i, Cabinet& cabinet, ImportReport& report) {
  const BundleRow row = bundle.contents().row(i);
  if (cabinet.holds(row.key)) {  // sets aside what is damaged there
    ++report.there;
    return {};
  }
  const auto object = bundle.read_row(i);
  if (!object) return tl::make_unexpected(object.error());
  if (auto published = cabinet.publish(row.key, *object); !published) return published;
  ++report.imported;
  report.bytes += row.object_bytes;
  return {};
}

}  // namespace

Expected<ExportReport> export_bundle(const Cabinet& cabinet, const std::vector<Key>& keys,
                                     const std::filesystem::path& file, const std::optional<SigningKey>& key) {
  BundleWriter writer;
  for (const Key& each : keys) {
    const auto object = cabinet.load(each);
    if (!object) return tl::make_unexpected(object.error());
    if (auto added = writer.add(each, *object); !added) return tl::make_unexpected(added.error());
  }
  ExportReport report{writer.entries(), 0, writer.object_bytes()};
  const std::vector<std::string> pieces = std::move(writer).finish(key);
  for (const std::string& piece : pieces) report.bytes += piece.size();
  auto written = util::replace_file(util::system_calls(), file, {pieces.begin(), pieces.end()});
  if (!written) return tl::make_unexpected(std::move(written.error()));
  return report;
}

Expected<ImportReport> import_bundle(const Bundle& bundle, const std::filesystem::path& root,
                                     Surroundings surroundings) {
  if (auto whole = check_all(bundle); !whole) return tl::make_unexpected(std::move(whole.error()));
  if (bundle.contents().size() == 0) return ImportReport{};
  auto cabinet = Cabinet::open(root, true, surroundings);
  if (!cabinet) return tl::make_unexpected(std::move(cabinet.error()));
  ImportReport report;
  for (std::uint64_t i = 0; i < bundle.contents().size(); ++i) {
    auto imported = import_row(bundle, i, *cabinet, report);
    if (imported) continue;
    Error error = std::move(imported.error());
    error.message += fmt::format("; {} of {} entries are in the cabinet", i, bundle.contents().size());
    return tl::make_unexpected(std::move(error));
  }
  return report;
}

std::vector<std::string> architectures(const BundleContents& contents) {
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < contents.size(); ++i) names.insert(contents.row(i).arch);
  return {names.begin(), names.end()};
}

}  // namespace cubinet::cache
