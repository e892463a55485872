// Exports of a root's entries to a bundle, and imports into a root.
#include "cache/bundle_transfer.hpp"

#include "catch.hpp"
#include "unit/cache/bundle_builder.hpp"
#include "unit/cache/set_clock.hpp"

using namespace cubinet;
using cache::Cabinet;
namespace fs = std::filesystem;

namespace {

std::vector<cache::Key> keys_of(Cabinet& cabinet) {
  std::vector<cache::Key> keys;
  const auto entries = test::entries_of(cabinet).value();
  for (const auto& entry : entries) keys.push_back(entry.key);
  return keys;
}

cache::Bundle opened(const fs::path& file) { return cache::Bundle::open(file, {}).value(); }

}  // namespace

TEST_CASE("entries that are exported and imported are unchanged byte for byte, and sound") {
  test::Filled from(4);
  const test::TempFolder folder;
  const auto exported = cache::export_bundle(from.maintenance(), keys_of(from.cabinet), folder / "bundle", {});
  REQUIRE(exported);
  CHECK(exported->entries == 4);
  CHECK(exported->bytes == fs::file_size(folder / "bundle"));
  const auto imported = cache::import_bundle(opened(folder / "bundle"), folder / "to");
  REQUIRE(imported);
  CHECK(imported->imported == 4);
  CHECK(imported->there == 0);
  CHECK(imported->bytes == exported->object_bytes);
  auto to = Cabinet::open(folder / "to", false).value();
  CHECK(test::equal(test::entries_of(to).value(), test::entries_of(from.cabinet).value()));
  std::uint64_t bytes = 0;
  for (int i = 0; i < 4; ++i) {
    const auto path = cache::Layout{folder / "to"}.object(test::key_of(i));
    CHECK(test::contents(path) == test::contents(from.layout.object(test::key_of(i))));
    bytes += fs::file_size(path);
  }
  CHECK(bytes == exported->object_bytes);
  const auto report = cache::Maintenance(to).verify(false).value();
  CHECK(report.damaged.empty());
  CHECK(report.orphans + report.missing + report.leftovers == 0);
}

TEST_CASE("an import reports how many entries were evicted because of the root's limits") {
  test::Filled from(8);
  const test::TempFolder folder;
  REQUIRE(cache::export_bundle(from.maintenance(), keys_of(from.cabinet), folder / "bundle", {}));
  for (const cache::Limits& limits : {cache::Limits{.entries = 3}, cache::Limits{.bytes = 1}, cache::Limits{}}) {
    fs::remove_all(folder / "to");
    const auto report = cache::import_bundle(opened(folder / "bundle"), folder / "to", {.limits = limits});
    REQUIRE(report);
    auto to = Cabinet::open(folder / "to", false, {.limits = {}}).value();
    CHECK(report->imported == static_cast<std::uint64_t>(cache::Maintenance(to).stats()->entries));
    CHECK(report->bytes == static_cast<std::uint64_t>(cache::Maintenance(to).stats()->bytes));
    CHECK(report->evicted == 8 - report->imported);
    CHECK((report->evicted == 0) == (limits == cache::Limits{}));
    CHECK(report->there == 0);
  }
}

TEST_CASE("imported entries count as used now, even if they were compiled long ago, and are evicted after older ones") {
  test::SetClock clock;
  test::Filled from(2);
  const test::TempFolder folder;
  REQUIRE(cache::export_bundle(from.maintenance(), keys_of(from.cabinet), folder / "bundle", {}));
  clock.now += 70 * 86'400;
  auto to = Cabinet::open(folder / "to", true, {.clock = clock}).value();
  cache::Object other = test::object_of(5);
  other.facts.created = clock.now - 86'400;
  REQUIRE(to.publish(test::key_of(5), other, cache::Origin::compiled));
  REQUIRE(cache::import_bundle(opened(folder / "bundle"), folder / "to", {.clock = clock}));
  CHECK(cache::Maintenance(to).collect({.age = 30 * 86'400}, false)->decision.evictions.empty());
  const auto collected = cache::Maintenance(to).collect({.entries = 2}, false);
  REQUIRE(collected->decision.evictions.size() == 1);
  CHECK(collected->decision.evictions.front().entry.key == test::key_of(5));
}

TEST_CASE("roots with the same entries give the same bundle, whatever their order, use and index") {
  test::Filled one(3);
  test::Filled other(0);
  for (const int number : {2, 0, 1}) REQUIRE(other.cabinet.publish(test::key_of(number), test::object_of(number)));
  other.cabinet.record_hits({test::key_of(1), test::key_of(2)});
  test::write_file(other.layout.index(), "noise");
  const test::TempFolder folder;
  REQUIRE(cache::export_bundle(one.maintenance(), keys_of(one.cabinet), folder / "one", {}));
  auto keys = keys_of(other.cabinet);
  std::reverse(keys.begin(), keys.end());
  REQUIRE(cache::export_bundle(other.maintenance(), keys, folder / "other", {}));
  CHECK(test::contents(folder / "one") == test::contents(folder / "other"));
}

TEST_CASE("an import keeps and counts present entries, and replaces damaged ones") {
  test::Filled from(3);
  const test::TempFolder folder;
  REQUIRE(cache::export_bundle(from.maintenance(), keys_of(from.cabinet), folder / "bundle", {}));
  test::Filled to(2);
  to.cabinet.record_hits({test::key_of(0)});
  test::write_file(to.layout.object(test::key_of(1)), "damaged");
  const auto imported = cache::import_bundle(opened(folder / "bundle"), to.layout.root);
  REQUIRE(imported);
  CHECK(imported->there == 1);
  CHECK(imported->imported == 2);
  CHECK(test::entries_of(to.cabinet, test::key_of(0).hex())->front().hits == 1);
  for (int i = 0; i < 3; ++i) CHECK(to.maintenance().load(test::key_of(i)));
  CHECK(to.maintenance().stats()->quarantined == 1);
  CHECK(cache::import_bundle(opened(folder / "bundle"), to.layout.root)->there == 3);
}

TEST_CASE("an export of a missing or damaged entry is an error and creates no file") {
  test::Filled from(2);
  const test::TempFolder folder;
  const auto fails = [&](const cache::Key& key) {
    const auto exported = cache::export_bundle(from.maintenance(), {test::key_of(0), key}, folder / "bundle", {});
    REQUIRE_FALSE(exported);
    CHECK(exported.error().message.find(key.hex().substr(2)) != std::string::npos);
    CHECK(fs::is_empty(folder.path()));
    return exported.error().code;
  };
  CHECK(fails(test::key_of(7)) == ErrorCode::not_found);
  test::write_file(from.layout.object(test::key_of(1)), "damaged");
  CHECK(fails(test::key_of(1)) == ErrorCode::invalid_argument);
}

TEST_CASE("an export replaces an existing file and changes nothing else") {
  test::Filled from(1);
  const test::TempFolder folder;
  test::write_file(folder / "bundle", "old");
  fs::create_directory(folder / "folder");
  fs::create_symlink(folder / "bundle", folder / "link");
  REQUIRE(cache::export_bundle(from.maintenance(), keys_of(from.cabinet), folder / "bundle", {}));
  CHECK(opened(folder / "bundle").contents().size() == 1);
  for (const char* name : {"folder", "link"}) {
    const auto refused = cache::export_bundle(from.maintenance(), keys_of(from.cabinet), folder / name, {});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find(name) != std::string::npos);
  }
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 3);
}

TEST_CASE("an import into a root that cannot store is an error that says how many entries were imported") {
  test::Filled from(2);
  const test::TempFolder folder;
  REQUIRE(cache::export_bundle(from.maintenance(), keys_of(from.cabinet), folder / "bundle", {}));
  test::write_file(folder / "file", "in the way");
  CHECK(cache::import_bundle(opened(folder / "bundle"), folder / "file").error().code == ErrorCode::cache_unusable);

  struct FullAfter final : util::SystemCalls {
    int left = 1;
    int link(const std::string& a, const std::string& b) override {
      if (b.find("/objects/") != std::string::npos && left-- <= 0) return errno = ENOSPC, -1;
      return SystemCalls::link(a, b);
    }
  } calls;
  cache::CabinetOptions options{util::system_clock(), calls};
  const auto refused = cache::import_bundle(opened(folder / "bundle"), folder / "to", options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("1 of 2 entries are in the cabinet") != std::string::npos);
  auto to = Cabinet::open(folder / "to", false).value();
  CHECK(test::entries_of(to)->size() == 1);
  CHECK(cache::Maintenance(to).verify(false)->damaged.empty());
}
