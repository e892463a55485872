// Which folders are accepted as a root, created or refused.
#include <sys/stat.h>

#include <cstdlib>

#include "catch.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
using cache::Cabinet;
namespace fs = std::filesystem;

namespace {

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

Error refusal(const fs::path& root, bool create = true) {
  auto opened = Cabinet::open(root, create);
  if (opened) FAIL("was opened: " << root);
  return opened.error();
}

bool names(const Error& error, const fs::path& path) { return error.message.find(path.native()) != std::string::npos; }

}  // namespace

TEST_CASE("a missing root is created with its parents and is accessible to its owner only") {
  const test::TempFolder folder;
  const auto root = folder / "a/b/root";
  const auto cabinet = Cabinet::open(root, true);
  REQUIRE(cabinet);
  CHECK(cabinet->persistence() == cache::Persistence::on);
  CHECK(cabinet->root() == root);
  CHECK(mode_of(root) == 0700);
  CHECK(test::contents(root / "FORMAT") == "cubinet cabinet 1\n");
  CHECK(test::contents(root / "CACHEDIR.TAG").starts_with("Signature: 8a477f597d28d172789f06886806bc55"));
  for (const char* part : {"objects", "locks", "tmp", "quarantine"}) CHECK(fs::is_directory(root / part));
}

TEST_CASE("an empty folder becomes a root, and a missing folder is created only on request") {
  const test::TempFolder folder;
  CHECK(refusal(folder / "none", false).code == ErrorCode::not_found);
  CHECK_FALSE(fs::exists(folder / "none"));
  fs::create_directory(folder / "empty");
  CHECK(refusal(folder / "empty", false).code == ErrorCode::not_found);
  CHECK(fs::is_empty(folder / "empty"));
  CHECK(Cabinet::open(folder / "empty", true));
}

TEST_CASE("a folder with other files is refused by name and unchanged") {
  const test::TempFolder folder;
  fs::create_directories(folder / "root/objects");
  test::write_file(folder / "root/precious", "data");
  const auto before = test::snapshot(folder.path());
  const Error error = refusal(folder / "root");
  CHECK(error.code == ErrorCode::cache_unusable);
  CHECK(names(error, folder / "root"));
  CHECK(test::snapshot(folder.path()) == before);
}

TEST_CASE("a root of another format is refused with both versions and unchanged") {
  const test::TempFolder folder;
  REQUIRE(Cabinet::open(folder / "root", true));
  for (const char* text : {"cubinet cabinet 2\n", "cubinet cabinet 1", "", "something else"}) {
    test::write_file(folder / "root/FORMAT", text);
    const auto before = test::snapshot(folder.path());
    CHECK(refusal(folder / "root").code == ErrorCode::cache_unusable);
    CHECK(test::snapshot(folder.path()) == before);
  }
  test::write_file(folder / "root/FORMAT", "cubinet cabinet 2\n");
  CHECK(refusal(folder / "root").message.find("format 2") != std::string::npos);
}

TEST_CASE("a FORMAT file with a missing, doubled or CR LF line end is refused with the command that restores it") {
  const test::TempFolder folder;
  REQUIRE(Cabinet::open(folder / "root", true));
  for (const char* text : {"cubinet cabinet 1", "cubinet cabinet 1\r\n", "cubinet cabinet 1\n\n"}) {
    test::write_file(folder / "root/FORMAT", text);
    const std::string message = refusal(folder / "root").message;
    CHECK(message.find("reads format 1") == std::string::npos);
    const std::string command = message.substr(message.find('`') + 1, message.rfind('`') - message.find('`') - 1);
    REQUIRE(command.starts_with("echo "));
    REQUIRE(std::system(command.c_str()) == 0);
    CHECK(Cabinet::open(folder / "root", false));
  }
}

TEST_CASE("a file in place of the root or of its parent is named in the error") {
  const test::TempFolder folder;
  test::write_file(folder / "file", "x");
  CHECK(refusal(folder / "file").code == ErrorCode::cache_unusable);
  CHECK(names(refusal(folder / "file"), folder / "file"));
  CHECK(refusal(folder / "file/root").code == ErrorCode::cache_unusable);
  CHECK(names(refusal(folder / "file/root"), folder / "file"));
  CHECK(refusal("").code == ErrorCode::cache_unusable);
  fs::create_symlink(folder / "nowhere", folder / "link");
  CHECK(refusal(folder / "link").code == ErrorCode::cache_unusable);
}

TEST_CASE("a root that everybody may write is refused with advice") {
  const test::TempFolder folder;
  REQUIRE(Cabinet::open(folder / "root", true));
  REQUIRE(::chmod((folder / "root").c_str(), 01777) == 0);
  const Error error = refusal(folder / "root");
  CHECK(error.code == ErrorCode::cache_unusable);
  CHECK(error.message.find("chmod o-w") != std::string::npos);
  REQUIRE(::chmod((folder / "root").c_str(), 0775) == 0);
  CHECK(Cabinet::open(folder / "root", true));
}

TEST_CASE("a link to the user's own root is followed, and a link inside a root is refused") {
  const test::TempFolder folder;
  REQUIRE(Cabinet::open(folder / "root", true));
  fs::create_directory_symlink(folder / "root", folder / "link");
  CHECK(Cabinet::open(folder / "link", true));
  fs::create_directory(folder / "elsewhere");
  fs::remove(folder / "root/tmp");
  fs::create_directory_symlink(folder / "elsewhere", folder / "root/tmp");
  CHECK(refusal(folder / "root").code == ErrorCode::cache_unusable);
  CHECK(names(refusal(folder / "root"), folder / "root/tmp"));
}

TEST_CASE("a root that a killed creator left incomplete is completed") {
  const test::TempFolder folder;
  fs::create_directory(folder / "root");
  test::write_file(folder / "root/FORMAT.123-0-abcdef00", "cubi");
  CHECK(Cabinet::open(folder / "root", true));
  fs::remove_all(folder / "root/objects");
  fs::remove(folder / "root/tmp");
  auto cabinet = Cabinet::open(folder / "root", true);
  REQUIRE(cabinet);
  CHECK(cabinet->publish(test::key_of(1), test::object_of(1)));
}

TEST_CASE("a relative root stays where it was when the working folder changes") {
  const test::TempFolder folder;
  const auto before = fs::current_path();
  fs::current_path(folder.path());
  auto cabinet = Cabinet::open("root/", true);
  fs::current_path(before);
  REQUIRE(cabinet);
  CHECK(cabinet->publish(test::key_of(1), test::object_of(1)));
  CHECK(fs::exists(cache::Layout{folder / "root"}.object(test::key_of(1))));
}

TEST_CASE("a folder or FORMAT file that vanishes while the root is open is restored by a write") {
  for (const char* part : {"tmp", "locks", "quarantine", "objects", "FORMAT"}) {
    INFO(part);
    const test::TempFolder folder;
    auto cabinet = Cabinet::open(folder / "root", true);
    REQUIRE(cabinet);
    REQUIRE(fs::remove_all(folder / "root" / part) == 1);
    REQUIRE(cabinet->publish(test::key_of(1), test::object_of(1)));
    CHECK(fs::exists(folder / "root" / part));
    auto again = Cabinet::open(folder / "root", false);
    REQUIRE(again);
    CHECK(again->holds(test::key_of(1)));
  }
}

TEST_CASE("a root that is removed while it is open is not created again, and a write is an error that says so") {
  const test::TempFolder folder;
  auto cabinet = Cabinet::open(folder / "root", true);
  REQUIRE(cabinet);
  fs::remove_all(folder / "root");
  const auto published = cabinet->publish(test::key_of(1), test::object_of(1));
  REQUIRE_FALSE(published);
  CHECK(published.error().code == ErrorCode::no_room);
  CHECK(published.error().message.find((folder / "root").native()) != std::string::npos);
  CHECK_FALSE(fs::exists(folder / "root"));
}

TEST_CASE("a root with entries but without FORMAT is refused with the command that restores it") {
  const test::TempFolder folder;
  REQUIRE(Cabinet::open(folder / "root", true)->publish(test::key_of(0), test::object_of(0)));
  fs::remove(folder / "root/FORMAT");
  const std::string message = refusal(folder / "root").message;
  const std::size_t begin = message.find('`') + 1;
  REQUIRE(begin != 0);
  REQUIRE(std::system(message.substr(begin, message.find('`', begin) - begin).c_str()) == 0);
  CHECK(Cabinet::open(folder / "root", false));
}

TEST_CASE("a dangling link is refused as a root, with its target in the message") {
  const test::TempFolder folder;
  fs::create_symlink(folder / "absent", folder / "link");
  CHECK(refusal(folder / "link")
            .message.find((folder / "link").native() + " is a link to " + (folder / "absent").native()) !=
        std::string::npos);
}
