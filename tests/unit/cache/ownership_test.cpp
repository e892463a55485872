// Folders that everybody may write, as a Kubernetes emptyDir is: the cabinet is a subfolder of the user's own there.
#include "cache/ownership.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "cache/object_store.hpp"
#include "catch.hpp"
#include "unit/cache/other_users.hpp"

using namespace cubinet;
using cache::Cabinet;
namespace fs = std::filesystem;

namespace {

using test::as_user;
using test::fill;
using test::is_root;
using test::needs_root;
using test::owner;
using test::stranger;

// A folder of root with this mode.
struct Volume {
  explicit Volume(mode_t mode) {
    fs::create_directory(path);
    REQUIRE(::chmod(path.c_str(), mode) == 0);
  }
  test::TempFolder folder;
  fs::path path = folder / "volume";
  cache::Layout layout{path / "cubinet-54321"};
};

bool finds(const fs::path& path) {
  const auto cabinet = Cabinet::open(path, false);
  return cabinet && test::hit(*cabinet, 0);
}

}  // namespace

TEST_CASE("in a folder that everybody may write the cabinet is the user's own subfolder, and a notice says so") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  for (const mode_t mode : {0777U, 01777U}) {
    const Volume volume(mode);
    fs::create_directory(volume.path / "lost+found");
    CHECK(as_user(owner, [&] { return !Cabinet::open(volume.path, false) && fill(volume.path); }));
    struct stat status {};
    REQUIRE(::stat(volume.layout.root.c_str(), &status) == 0);
    CHECK(status.st_uid == owner);
    CHECK((status.st_mode & 07777) == 0700);
    CHECK(as_user(owner, [&] {
      const auto cabinet = Cabinet::open(volume.path, false);
      return cabinet && test::hit(*cabinet, 0) && cabinet->root() == volume.layout.root &&
             cabinet->notice().find(volume.path.native() + " can be written by everybody") == 0 &&
             cabinet->persistence() == cache::Persistence::on;
    }));
  }
}

TEST_CASE("a user who may not change the mode of such a folder with other files is told to name a folder in it") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  const Volume volume(0777);
  fs::create_directory(volume.path / "models");
  CHECK(as_user(owner, [&] {
    const auto refused = Cabinet::open(volume.path, true);
    const std::string below = (volume.path / "cubinet").native();
    return !refused && refused.error().message.ends_with("name a folder of your own in it, as " + below) && fill(below);
  }));
}

TEST_CASE("a layer in a folder that everybody may write is the user's subfolder, too") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  const Volume volume(0777);
  CHECK(as_user(owner, [&] {
    if (!fill(volume.path)) return false;
    auto stack = Cabinet::open_stack({}, false, {volume.path});
    return stack && test::hit(stack->cabinet, 0);
  }));
}

TEST_CASE("each user has their own subfolder there and finds no entries of other users") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  const Volume volume(0777);
  CHECK(as_user(owner, [&] { return fill(volume.path); }));
  CHECK(as_user(stranger, [&] { return !Cabinet::open(volume.path, false) && fill(volume.path); }));
  CHECK(as_user(owner, [&] { return finds(volume.path); }));
}

TEST_CASE("a subfolder that is a link, another user's or writable by others is refused with the reason and unchanged") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  for (const char* kind : {"link", "stranger's", "open"}) {
    INFO(kind);
    const std::string_view what = kind;
    const Volume volume(0777);
    if (what == "link") {
      fs::create_directory(volume.folder / "elsewhere");
      REQUIRE(::chown((volume.folder / "elsewhere").c_str(), owner, owner) == 0);
      fs::create_directory_symlink(volume.folder / "elsewhere", volume.layout.root);
      REQUIRE(::lchown(volume.layout.root.c_str(), owner, owner) == 0);
    } else {
      fs::create_directory(volume.layout.root);
      REQUIRE(::chown(volume.layout.root.c_str(), what == "open" ? owner : stranger, owner) == 0);
      REQUIRE(::chmod(volume.layout.root.c_str(), what == "open" ? 0777 : 0755) == 0);
    }
    const auto before = test::snapshot(volume.folder.path());
    CHECK(as_user(owner, [&] {
      const auto cabinet = Cabinet::open(volume.path, true);
      return !cabinet && cabinet.error().code == ErrorCode::cache_unusable &&
             cabinet.error().message.find("cubinet-54321") != std::string::npos;
    }));
    CHECK(test::snapshot(volume.folder.path()) == before);
  }
}

TEST_CASE("an object in a folder that another user put in place of the subfolder is not read") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  const Volume volume(0777);
  CHECK(as_user(owner, [&] { return Cabinet::open(volume.path, true).has_value(); }));
  // A sound object under its key, in a folder of the same name.
  REQUIRE(as_user(stranger, [&] {
    fs::rename(volume.layout.root, volume.path / "away");
    auto own = Cabinet::open(volume.layout.root, true);
    return own && own->publish(test::key_of(0), test::object_of(0)).has_value() &&
           ::chmod(volume.layout.root.c_str(), 0777) == 0;
  }));
  CHECK(as_user(owner, [&] {
    const cache::ObjectStore store(volume.layout, util::system_calls(), true);
    const auto read = store.read(test::key_of(0));
    return !read && read.error().code == ErrorCode::io && !Cabinet::open(volume.path, true);
  }));
}

TEST_CASE("in a folder that everybody may write, problems that another user recorded are skipped") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  const Volume volume(0777);
  CHECK(as_user(owner, [&] {
    auto cabinet = Cabinet::open(volume.path, true);
    return cabinet && cabinet->record_problems({{R"({"n":1})", 1, 8, 0}, {R"({"n":2})", 1, 8, 0}}) &&
           cache::Maintenance(*cabinet).recorded_problems()->problems.size() == 2;
  }));
  const fs::path forged = fs::directory_iterator(volume.layout.problems())->path();
  REQUIRE(::chown(forged.c_str(), stranger, stranger) == 0);
  CHECK(as_user(owner, [&] {
    const auto cabinet = Cabinet::open(volume.path, false);
    const auto read = cabinet ? cache::Maintenance(*cabinet).recorded_problems() : fail(ErrorCode::io, "");
    return read && read->problems.size() == 1 && read->skipped.size() == 1 && !read->skipped.front().damaged;
  }));
}

TEST_CASE("a folder that everybody may write and that holds other files is refused") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  const Volume volume(0777);
  test::write_file(volume.path / "other", "x");
  CHECK(as_user(owner, [&] {
    const auto cabinet = Cabinet::open(volume.path, true);
    return !cabinet && cabinet.error().message.find("can be written by everybody") != std::string::npos;
  }));
}

TEST_CASE("a path that begins with an unexpanded ~ is refused with advice") {
  for (const char* path : {"~", "~/cabinet", "~user/cabinet"}) {
    const auto cabinet = Cabinet::open(path, true);
    REQUIRE_FALSE(cabinet);
    CHECK(cabinet.error().message.find("$HOME") != std::string::npos);
    CHECK_FALSE(fs::exists(path));
    const auto layer = Cabinet::open_stack({}, false, {path});
    CHECK_FALSE(layer);
  }
}
