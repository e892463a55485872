// Layers: roots that are searched after the first one and never written.
#include "catch.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
using cache::Cabinet;
using test::hit;
namespace fs = std::filesystem;

namespace {

void publish(Cabinet& cabinet, int number) { REQUIRE(cabinet.publish(test::key_of(number), test::object_of(number))); }

}  // namespace

TEST_CASE("a layer's entries are found, and published entries go to the first root") {
  test::Filled layer(2);
  test::Filled root(0);
  REQUIRE(root.add_layer(layer.layout.root));
  const auto before = test::snapshot(layer.layout.root);
  CHECK(hit(root.cabinet, 0));
  CHECK(hit(root.cabinet, 1));
  CHECK_FALSE(root.cabinet.find(test::key_of(0), "another record"));
  CHECK_FALSE(root.cabinet.holds(test::key_of(2)));
  publish(root.cabinet, 2);
  CHECK(hit(root.cabinet, 2));
  CHECK(test::entries_of(root.cabinet)->size() == 1);
  CHECK(root.cabinet.persistence() == cache::Persistence::on);
  CHECK(test::snapshot(layer.layout.root) == before);
}

TEST_CASE("the root is searched first, then the layers in the order in which they were added") {
  test::Filled first(1);
  test::Filled second(1);
  test::Filled root(1);
  for (const auto* one : {&root, &first, &second}) {
    auto object = test::object_of(0);
    object.payload += one == &root ? "root" : one == &first ? "first" : "second";
    fs::remove(one->layout.object(test::key_of(0)));
    REQUIRE(Cabinet::open(one->layout.root, false)->publish(test::key_of(0), object));
  }
  const auto found = [&] {
    const std::string payload = root.cabinet.find(test::key_of(0), test::record_of(0)).value().payload;
    return payload.substr(test::object_of(0).payload.size());
  };
  REQUIRE(root.add_layer(first.layout.root));
  REQUIRE(root.add_layer(second.layout.root));
  CHECK(found() == "root");
  fs::remove(root.layout.object(test::key_of(0)));
  CHECK(found() == "first");
  fs::remove(first.layout.object(test::key_of(0)));
  CHECK(found() == "second");
}

TEST_CASE("a damaged entry in a layer is a miss and is not moved, and a later layer is still searched") {
  test::Filled broken(2);
  test::Filled whole(1);
  test::Filled root(0);
  for (int i = 0; i < 2; ++i) test::write_file(broken.layout.object(test::key_of(i)), "damaged");
  REQUIRE(root.add_layer(broken.layout.root));
  REQUIRE(root.add_layer(whole.layout.root));
  const auto before = test::snapshot(broken.layout.root);
  CHECK(hit(root.cabinet, 0));
  CHECK_FALSE(root.cabinet.find(test::key_of(1), test::record_of(1)));
  CHECK_FALSE(root.cabinet.holds(test::key_of(1)));
  CHECK(test::snapshot(broken.layout.root) == before);
}

TEST_CASE("a damaged entry in the root is moved to quarantine even if a layer has a sound one") {
  test::Filled layer(1);
  test::Filled root(1);
  REQUIRE(root.add_layer(layer.layout.root));
  test::write_file(root.layout.object(test::key_of(0)), "damaged");
  CHECK(hit(root.cabinet, 0));
  CHECK(root.maintenance().stats()->quarantined == 1);
}

TEST_CASE("nothing is created in a layer, not even its missing folders") {
  test::Filled layer(1);
  for (const char* part : {"locks", "tmp", "quarantine", "index.db", "CACHEDIR.TAG"}) {
    fs::remove_all(layer.layout.root / part);
  }
  const auto before = test::snapshot(layer.layout.root);
  test::Filled root(0);
  REQUIRE(root.add_layer(layer.layout.root));
  auto stack = Cabinet::open_stack({}, true, {layer.layout.root});
  REQUIRE(stack);
  for (Cabinet* cabinet : {&root.cabinet, &stack->cabinet}) {
    CHECK(hit(*cabinet, 0));
    cabinet->record_hits({test::key_of(0)});
    CHECK(cache::Maintenance(*cabinet).survey());
    CHECK(cache::Maintenance(*cabinet).stats());
    CHECK_FALSE(cabinet->claim(test::key_of(0)).taken());
  }
  CHECK(test::entries_of(stack->cabinet)->size() == 1);
  CHECK(test::snapshot(layer.layout.root) == before);
}

TEST_CASE("a folder that is not a cabinet is refused as a layer and unchanged") {
  const test::TempFolder folder;
  fs::create_directory(folder / "empty");
  fs::create_directory(folder / "foreign");
  test::write_file(folder / "foreign/thing", "x");
  fs::create_directory(folder / "later");
  test::write_file(folder / "later/FORMAT", "cubinet cabinet 99\n");
  const auto before = test::snapshot(folder.path());
  for (const char* name : {"none", "empty", "foreign", "later"}) {
    test::Filled root(1);
    const auto added = root.add_layer(folder / name);
    REQUIRE_FALSE(added);
    CHECK(added.error().message.find(name) != std::string::npos);
    CHECK(hit(root.cabinet, 0));
  }
  CHECK(test::snapshot(folder.path()) == before);
}

TEST_CASE("layers that cannot be opened are left out and reported") {
  test::Filled layer(1);
  const test::TempFolder folder;
  auto stack = Cabinet::open_stack(folder / "root", true, {folder / "none", layer.layout.root});
  REQUIRE(stack);
  REQUIRE(stack->problems.size() == 1);
  CHECK(stack->problems[0].find("none") != std::string::npos);
  CHECK(stack->cabinet.root() == folder / "root");
  CHECK(stack->cabinet.persistence() == cache::Persistence::on);
  CHECK(stack->cabinet.readonly_reason().empty());
  CHECK(hit(stack->cabinet, 0));
}

TEST_CASE("without a usable root the layers are searched, nothing is stored, and the reason is reported") {
  test::Filled first(1);
  test::Filled second(2);
  const test::TempFolder folder;
  test::write_file(folder / "file", "in the way");
  for (const fs::path& root : {fs::path(), folder / "file", folder / "file/below"}) {
    const auto before = test::snapshot(first.layout.root);
    auto stack = Cabinet::open_stack(root, true, {first.layout.root, second.layout.root});
    REQUIRE(stack);
    CHECK(stack->problems.size() == (root.empty() ? 0 : 1));
    CHECK(stack->cabinet.root() == first.layout.root);
    CHECK(stack->cabinet.persistence() == cache::Persistence::readonly);
    CHECK_FALSE(stack->cabinet.readonly_reason().empty());
    CHECK(hit(stack->cabinet, 0));
    CHECK(hit(stack->cabinet, 1));
    const auto published = stack->cabinet.publish(test::key_of(5), test::object_of(5));
    REQUIRE_FALSE(published);
    CHECK(published.error().code == ErrorCode::cache_unusable);
    CHECK(test::snapshot(first.layout.root) == before);
  }
}

TEST_CASE("if neither the root nor a layer opens, the first error is returned") {
  const test::TempFolder folder;
  test::write_file(folder / "file", "in the way");
  const auto refused = Cabinet::open_stack(folder / "file", true, {folder / "none"});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::cache_unusable);
  CHECK(refused.error().message.find("file") != std::string::npos);
  CHECK(Cabinet::open_stack({}, true, {folder / "none"}).error().code == ErrorCode::not_found);
  CHECK(Cabinet::open_stack({}, true, {}).error().code == ErrorCode::cache_unusable);
}
