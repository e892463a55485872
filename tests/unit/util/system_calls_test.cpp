#include "util/system_calls.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catch.hpp"
#include "unit/util/faulty_calls.hpp"
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

constexpr uid_t user = 54'321;
constexpr gid_t group = 54'322;
constexpr const char* needs_root = "must be root to change owners";

// Fails to change the owner of any file.
class NoChown final : public util::SystemCalls {
 public:
  int fchown(int /*file*/, uid_t /*user*/, gid_t /*group*/) override {
    errno = EPERM;
    return -1;
  }
};

bool belongs(const fs::path& path, uid_t owner, gid_t owners) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && status.st_uid == owner && status.st_gid == owners;
}

bool opens(util::SystemCalls& calls, const fs::path& path, int flags) {
  const int file = calls.open(path.native(), flags | O_CLOEXEC, 0644);
  return file >= 0 && calls.close(file) == 0;
}

}  // namespace

TEST_CASE("no call follows a link among the folders of a path, and each works with the real path") {
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

TEST_CASE("a folder of the path that cannot be opened is reported by errno") {
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

TEST_CASE("replace_file accepts a path through a link to a folder") {
  const Linked tree;
  REQUIRE(util::replace_file(util::system_calls(), tree.folder / "link/file", {"new"}));
  CHECK(test::contents(tree.folder / "real/file") == "new");
  CHECK(util::replace_file(util::system_calls(), tree.folder / "absent/file", {"new"}).error().message.find("absent") !=
        std::string::npos);
}

TEST_CASE("ChowningCalls changes the owner of what it creates, and existing files keep their owner") {
  if (::geteuid() != 0) CUBINET_SKIP(needs_root);
  const test::TempFolder folder;
  util::ChowningCalls calls(util::system_calls(), user, group);
  CHECK(calls.mkdir((folder / "made").native(), 0755) == 0);
  CHECK(belongs(folder / "made", user, group));
  for (const int exclusive : {0, O_EXCL}) {
    const fs::path file = folder / ("file" + std::to_string(exclusive));
    CHECK(opens(calls, file, O_RDWR | O_CREAT | exclusive));
    CHECK(belongs(file, user, group));
  }
  test::write_file(folder / "there", "mine");
  fs::create_hard_link(folder / "there", folder / "planted");
  for (const char* name : {"there", "planted"}) CHECK(opens(calls, folder / name, O_RDWR | O_CREAT));
  CHECK_FALSE(opens(calls, folder / "there", O_RDWR | O_CREAT | O_EXCL));
  CHECK(opens(calls, folder / "there", O_RDONLY));
  CHECK(calls.mkdir(folder.path().native(), 0755) == -1);
  CHECK(errno == EEXIST);
  CHECK(belongs(folder / "there", 0, 0));
  CHECK(belongs(folder.path(), 0, 0));
}

TEST_CASE("files and folders are created even if their owner cannot be changed") {
  const test::TempFolder folder;
  NoChown no_chown;
  util::ChowningCalls calls(no_chown, user, group);
  CHECK(calls.mkdir((folder / "made").native(), 0755) == 0);
  CHECK(opens(calls, folder / "made/file", O_RDWR | O_CREAT));
  CHECK(belongs(folder / "made", ::geteuid(), ::getegid()));
  CHECK(belongs(folder / "made/file", ::geteuid(), ::getegid()));
}

TEST_CASE("a failed creation reports the errno of the call that failed") {
  const test::TempFolder folder;
  test::FaultyCalls faulty;
  util::ChowningCalls calls(faulty, ::geteuid(), ::getegid());
  faulty.fail_at = 0;
  errno = 0;
  CHECK_FALSE(opens(calls, folder / "file", O_RDWR | O_CREAT));
  CHECK(errno == ENOSPC);
  faulty.calls = 0;
  CHECK(calls.mkdir((folder / "made").native(), 0755) == -1);
  CHECK(errno == ENOSPC);
  CHECK(fs::is_empty(folder.path()));
}
