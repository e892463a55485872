#include "util/system_calls.hpp"

#include <fcntl.h>

#include "catch.hpp"
#include "unit/util/temp_folder.hpp"
#include "util/files.hpp"

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

// A folder with a file and a folder in it, and a link to it.
struct Linked {
  Linked() {
    fs::create_directories(folder / "real/inner");
    test::write_file(folder / "real/file", "data");
    fs::create_directory_symlink(folder / "real", folder / "link");
  }
  [[nodiscard]] std::string at(std::string_view name) const { return (folder / name).native(); }
  test::TempFolder folder;
};

}  // namespace

TEST_CASE("no call that changes something goes through a link to a folder, and each works by the real path") {
  auto& calls = util::system_calls();
  for (const bool by_link : {true, false}) {
    INFO(by_link);
    const Linked tree;
    const std::string way = tree.at(by_link ? "link/" : "real/");
    const int expected = by_link ? -1 : 0;
    const auto before = test::count_files(tree.folder / "real");
    const int opened = calls.open(way + "made", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    CHECK((opened < 0) == by_link);
    if (opened >= 0) CHECK(calls.close(opened) == 0);
    CHECK(calls.link(way + "file", tree.at("elsewhere")) == expected);
    CHECK(calls.link(tree.at("real/file"), way + "second") == expected);
    CHECK(calls.rename(way + "second", tree.at("away")) == expected);
    CHECK(calls.mkdir(way + "folder", 0755) == expected);
    CHECK(calls.rmdir(way + "inner") == expected);
    CHECK(calls.unlink(way + "file") == expected);
    if (by_link) CHECK(errno == ENOTDIR);
    if (by_link) CHECK(test::count_files(tree.folder / "real") == before);
    CHECK(fs::exists(tree.folder / "real/inner") == by_link);
  }
}

TEST_CASE("a folder on the way that cannot be gone through is an error with the reason") {
  const test::TempFolder folder;
  auto& calls = util::system_calls();
  CHECK(calls.unlink((folder / "absent/inner/file").native()) == -1);
  CHECK(errno == ENOENT);
  CHECK(calls.unlink((folder / std::string(300, 'x') / "file").native()) == -1);
  CHECK(errno == ENAMETOOLONG);
  test::write_file(folder / "file", "");
  CHECK(calls.rename((folder / "file/inner").native(), (folder / "other").native()) == -1);
  CHECK(errno == ENOTDIR);
  CHECK(calls.rename((folder / "file").native(), (folder / "absent/other").native()) == -1);
  CHECK(errno == ENOENT);
}

TEST_CASE("a file that is replaced may be named through a link to its folder") {
  const Linked tree;
  REQUIRE(util::replace_file(util::system_calls(), tree.folder / "link/file", {"new"}));
  CHECK(test::contents(tree.folder / "real/file") == "new");
  CHECK(util::replace_file(util::system_calls(), tree.folder / "absent/file", {"new"}).error().message.find("absent") !=
        std::string::npos);
}
