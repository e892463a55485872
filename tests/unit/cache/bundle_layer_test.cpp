// Bundles as layers: searched in place, and never written.
#include <unistd.h>

#include "cache/bundle.hpp"
#include "catch.hpp"
#include "unit/cache/bundle_builder.hpp"

using namespace cubinet;
using cache::Cabinet;
using test::hit;
namespace fs = std::filesystem;

TEST_CASE("the entries of a bundle as a layer are found, and the bundle is never written") {
  const test::TempFolder folder;
  test::write_file(folder / "bundle", test::written_bundle({0, 1, 2}));
  fs::permissions(folder / "bundle", fs::perms::owner_read);
  test::Filled root(0);
  const auto before = test::snapshot(folder.path());
  REQUIRE(root.add_layer(folder / "bundle"));
  for (int i = 0; i < 3; ++i) CHECK(hit(root.cabinet, i));
  CHECK_FALSE(root.cabinet.holds(test::key_of(3)));
  CHECK_FALSE(root.cabinet.find(test::key_of(0), "another record"));
  root.cabinet.record_hits({test::key_of(0)});
  CHECK(test::entries_of(root.cabinet)->empty());
  CHECK(test::snapshot(folder.path()) == before);
}

TEST_CASE("a damaged entry of a bundle is a miss, and a later layer and the bundle's other entries are still found") {
  const test::TempFolder folder;
  test::RawBundle raw = test::raw_bundle(3);
  const auto middle = raw.rows[1];
  raw.blobs[middle.offset + 40] = static_cast<char>(raw.blobs[middle.offset + 40] ^ 1);
  test::write_file(folder / "bundle", raw.bytes());
  test::Filled root(0);
  REQUIRE(root.add_layer(folder / "bundle"));
  int missed = -1;
  for (int i = 0; i < 3; ++i) {
    if (test::raw_key(test::record_of(i)) == middle.key) missed = i;
    CHECK(hit(root.cabinet, i) == (missed != i));
  }
  REQUIRE(missed >= 0);
  test::Filled whole(3);
  REQUIRE(root.add_layer(whole.layout.root));
  CHECK(hit(root.cabinet, missed));
  CHECK(root.maintenance().stats()->quarantined == 0);
}

TEST_CASE("a bundle with a damaged table of contents, or a file that is not a bundle, is refused as a layer") {
  const test::TempFolder folder;
  std::string bytes = test::written_bundle({0});
  bytes[50] = static_cast<char>(bytes[50] ^ 1);
  test::write_file(folder / "changed", bytes);
  test::write_file(folder / "cut", test::written_bundle({0}).substr(0, 300));
  test::write_file(folder / "text", "hello\n");
  test::write_file(folder / "empty", "");
  for (const char* name : {"changed", "cut", "text", "empty"}) {
    test::Filled root(1);
    const auto added = root.add_layer(folder / name);
    REQUIRE_FALSE(added);
    CHECK(added.error().message.find((folder / name).string()) != std::string::npos);
    CHECK(hit(root.cabinet, 0));
  }
}

TEST_CASE("replacing a bundle by a rename does not disturb a reader") {
  const test::TempFolder folder;
  test::write_file(folder / "bundle", test::written_bundle({0, 1}));
  test::Filled root(0);
  REQUIRE(root.add_layer(folder / "bundle"));
  test::write_file(folder / "new", test::written_bundle({5}));
  fs::rename(folder / "new", folder / "bundle");
  CHECK(hit(root.cabinet, 0));
  fs::remove(folder / "bundle");
  CHECK(hit(root.cabinet, 1));
}

TEST_CASE("a look-up in a bundle that is truncated while open is a miss") {
  const test::TempFolder folder;
  test::write_file(folder / "bundle", test::written_bundle({0, 1}));
  test::Filled root(0);
  REQUIRE(root.add_layer(folder / "bundle"));
  fs::resize_file(folder / "bundle", 10);
  CHECK_FALSE(root.cabinet.holds(test::key_of(0)));
}

TEST_CASE("a bundle opened before a fork can be read in child and parent") {
  const test::TempFolder folder;
  test::write_file(folder / "bundle", test::written_bundle({0, 1, 2, 3}));
  test::Filled root(0);
  REQUIRE(root.add_layer(folder / "bundle"));
  const auto all = [&] {
    for (int round = 0; round < 200; ++round) {
      if (!hit(root.cabinet, round % 4)) return 1;
    }
    return 0;
  };
  const pid_t child = test::start_child(all);
  CHECK(all() == 0);
  CHECK(test::wait_for(child) == 0);
}

TEST_CASE("without a root, bundles are searched in the order of the layers, and nothing is stored") {
  test::Filled second(3);
  auto other = test::object_of(0);
  other.payload += "second";
  fs::remove(second.layout.object(test::key_of(0)));
  REQUIRE(second.cabinet.publish(test::key_of(0), other));
  const test::TempFolder folder;
  test::write_file(folder / "bundle", test::written_bundle({0, 1}));
  const auto before = test::snapshot(folder.path());
  auto stack = Cabinet::open_stack({}, true, {folder / "bundle", second.layout.root});
  REQUIRE(stack);
  CHECK(stack->problems.empty());
  CHECK(stack->cabinet.persistence() == cache::Persistence::readonly);
  CHECK(stack->cabinet.readonly_reason().find("bundle") != std::string::npos);
  for (int i = 0; i < 3; ++i) CHECK(hit(stack->cabinet, i));
  const auto published = stack->cabinet.publish(test::key_of(5), test::object_of(5));
  REQUIRE_FALSE(published);
  CHECK(published.error().code == ErrorCode::cache_unusable);
  CHECK(test::snapshot(folder.path()) == before);
}

TEST_CASE("a cabinet that is only a bundle loads, lists and counts entries like a folder") {
  const test::TempFolder folder;
  test::write_file(folder / "bundle", test::written_bundle({0, 1, 2}));
  test::Filled same(3);
  auto stack = Cabinet::open_stack({}, true, {folder / "bundle"});
  REQUIRE(stack);
  Cabinet& cabinet = stack->cabinet;
  for (int i = 0; i < 3; ++i) {
    const auto object = cache::Maintenance(cabinet).load(test::key_of(i));
    REQUIRE(object);
    CHECK(test::equal(*object, test::object_of(i)));
    CHECK(cache::Maintenance(cabinet).check(test::key_of(i)));
  }
  CHECK(cache::Maintenance(cabinet).check(test::key_of(3)).error().code == ErrorCode::not_found);
  const auto survey = cache::Maintenance(cabinet).survey();
  REQUIRE(survey);
  CHECK(test::equal(survey->entries, test::entries_of(same.cabinet).value()));
  CHECK(survey->damaged.empty());
  CHECK(survey->index_problem.empty());
  CHECK(test::entries_of(cabinet, test::key_of(1).hex()).value().size() == 1);
  const auto stats = cache::Maintenance(cabinet).stats().value();
  CHECK(stats.entries == 3);
  CHECK(stats.bytes == same.maintenance().stats()->bytes);
  CHECK(stats.quarantined == 0);
  CHECK(cache::Maintenance(cabinet).verify(false)->checked == 3);
  const auto collected = cache::Maintenance(cabinet).collect({.entries = 1}, true);
  REQUIRE(collected);
  CHECK(collected->decision.evictions.size() == 2);
}

TEST_CASE(
    "a damaged entry of a bundle in place of the root is reported with the bundle's name, and others are listed") {
  const test::TempFolder folder;
  test::RawBundle raw = test::raw_bundle(3);
  const auto middle = raw.rows[1];
  raw.blobs[middle.offset + 40] = static_cast<char>(raw.blobs[middle.offset + 40] ^ 1);
  test::write_file(folder / "bundle", raw.bytes());
  auto stack = Cabinet::open_stack({}, true, {folder / "bundle"});
  REQUIRE(stack);
  const auto survey = cache::Maintenance(stack->cabinet).survey().value();
  CHECK(survey.entries.size() == 2);
  REQUIRE(survey.damaged.size() == 1);
  const auto key = cache::Key::from_hex(survey.damaged.front());
  REQUIRE(key);
  const auto checked = cache::Maintenance(stack->cabinet).check(*key);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == ErrorCode::invalid_argument);
  CHECK(checked.error().message.find((folder / "bundle").native() + " is refused: entry " + key->hex()) !=
        std::string::npos);
  CHECK(checked.error().message.find("objects/") == std::string::npos);
  CHECK(cache::Maintenance(stack->cabinet).verify(false)->damaged == survey.damaged);
}

TEST_CASE("a bundle named as a root is refused with advice on how to use it") {
  const test::TempFolder folder;
  test::write_file(folder / "bundle", test::written_bundle({0}));
  const auto opened = Cabinet::open(folder / "bundle", true);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ErrorCode::cache_unusable);
  CHECK(opened.error().message.find((folder / "bundle").native() + " is not a folder") != std::string::npos);
  CHECK(opened.error().message.find("CUBINET_CACHE_PATH") != std::string::npos);
  CHECK(opened.error().message.find("cubinet cache import") != std::string::npos);
}

TEST_CASE("with a bundle key, bundles not signed with it are refused as layers, and folders are accepted") {
  const test::Keys keys;
  const auto& folder = keys.folder;
  test::write_file(folder / "good", test::written_bundle({0}, keys.signing()));
  test::write_file(folder / "bare", test::written_bundle({1}));
  test::write_file(folder / "other", test::written_bundle({2}, keys.other()));
  test::Filled layer(4);
  cache::CabinetOptions options;
  options.bundle_key = keys.public_file();
  auto stack = Cabinet::open_stack({}, true, {folder / "bare", folder / "other", folder / "good"}, options);
  REQUIRE(stack);
  CHECK(hit(stack->cabinet, 0));
  CHECK_FALSE(hit(stack->cabinet, 1));
  CHECK_FALSE(hit(stack->cabinet, 2));
  REQUIRE(stack->problems.size() == 2);
  CHECK(stack->problems[0].find("not signed") != std::string::npos);
  const auto with_folder = Cabinet::open_stack({}, true, {folder / "good", layer.layout.root}, options);
  REQUIRE(with_folder);
  CHECK(with_folder->problems.empty());
  CHECK(hit(with_folder->cabinet, 0));
  CHECK(hit(with_folder->cabinet, 3));
  options.bundle_key = folder / "absent.pem";
  const auto refused = Cabinet::open_stack({}, true, {folder / "good"}, options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("absent.pem") != std::string::npos);
}

TEST_CASE("a bundle that everybody may write or that belongs to another user is refused as a layer") {
  if (::geteuid() != 0) CUBINET_SKIP("needs root to give a file away");
  const test::TempFolder folder;
  test::write_file(folder / "open", test::written_bundle({0}));
  fs::permissions(folder / "open", fs::perms{0666});
  test::write_file(folder / "foreign", test::written_bundle({0}));
  REQUIRE(::chown((folder / "foreign").c_str(), 54321, 54321) == 0);
  REQUIRE(::symlink((folder / "sound").c_str(), (folder / "link").c_str()) == 0);
  test::write_file(folder / "sound", test::written_bundle({0}));
  REQUIRE(::lchown((folder / "link").c_str(), 54321, 54321) == 0);
  const auto layer_of_nobody = [&](const char* name) {
    return test::in_child([&] {
      if (::setgid(65534) != 0 || ::setuid(65534) != 0) return 97;
      const auto stack = Cabinet::open_stack({}, false, {folder / name});
      return stack ? 0 : stack.error().code == ErrorCode::cache_unusable ? 1 : 2;
    });
  };
  CHECK(layer_of_nobody("sound") == 0);
  CHECK(layer_of_nobody("open") == 1);
  CHECK(layer_of_nobody("foreign") == 1);
  CHECK(layer_of_nobody("link") == 1);
  CHECK_FALSE(Cabinet::open_stack({}, false, {folder / "open"}));
  CHECK(Cabinet::open_stack({}, false, {folder / "foreign"}));
}
