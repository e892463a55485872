#include "util/giving_calls.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catch.hpp"
#include "unit/util/faulty_calls.hpp"
#include "unit/util/temp_folder.hpp"

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

constexpr uid_t user = 54'321;
constexpr gid_t group = 54'322;
constexpr const char* needs_root = "needs to be root, to give files away";

// A disk on which nothing can be given away.
class Keeping final : public util::SystemCalls {
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

TEST_CASE("a file or folder that is made belongs to the other user, and what was there keeps its owner") {
  if (::geteuid() != 0) CUBINET_SKIP(needs_root);
  const test::TempFolder folder;
  util::GivingCalls calls(util::system_calls(), user, group);
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

TEST_CASE("where nothing can be given away files and folders are made all the same") {
  const test::TempFolder folder;
  Keeping keeping;
  util::GivingCalls calls(keeping, user, group);
  CHECK(calls.mkdir((folder / "made").native(), 0755) == 0);
  CHECK(opens(calls, folder / "made/file", O_RDWR | O_CREAT));
  CHECK(belongs(folder / "made", ::geteuid(), ::getegid()));
  CHECK(belongs(folder / "made/file", ::geteuid(), ::getegid()));
}

TEST_CASE("what cannot be made is an error with the reason of the call that failed") {
  const test::TempFolder folder;
  test::FaultyCalls faulty;
  util::GivingCalls calls(faulty, ::geteuid(), ::getegid());
  faulty.fail_at = 0;
  errno = 0;
  CHECK_FALSE(opens(calls, folder / "file", O_RDWR | O_CREAT));
  CHECK(errno == ENOSPC);
  faulty.calls = 0;
  CHECK(calls.mkdir((folder / "made").native(), 0755) == -1);
  CHECK(errno == ENOSPC);
  CHECK(fs::is_empty(folder.path()));
}
