#include "util/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "catch.hpp"
#include "unit/util/faulty_calls.hpp"
#include "unit/util/temp_folder.hpp"

using namespace cubinet;
namespace fs = std::filesystem;

TEST_CASE("a file is read completely, and refused if it exceeds the bound") {
  const test::TempFolder folder;
  test::write_file(folder / "file", "12345");
  CHECK(util::read_file(folder / "file", 5).value() == "12345");
  CHECK(util::read_file(folder / "file", 4).error().code == ErrorCode::invalid_argument);
  CHECK(util::read_file(folder / "none", 4).error().code == ErrorCode::not_found);
}

TEST_CASE("anything but a regular file is refused without waiting") {
  const test::TempFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(util::read_file(folder / "pipe", 10).error().code == ErrorCode::invalid_argument);
  CHECK(util::read_file(folder.path(), 10).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("a symbolic link is followed only with follow_links") {
  const test::TempFolder folder;
  test::write_file(folder / "file", "12345");
  fs::create_symlink(folder / "file", folder / "link");
  CHECK(util::read_file(folder / "link", 10).value() == "12345");
  CHECK(util::read_file(folder / "link", 10, false).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("short writes and interrupted writes lose nothing") {
  const test::TempFolder folder;
  test::FaultyCalls calls;
  calls.longest_write = 3;
  calls.interrupt_every = 4;
  const std::string bytes(1000, 'x');
  REQUIRE(util::publish_file(calls, folder.path(), folder / "file", {bytes, "end"}));
  CHECK(test::contents(folder / "file") == bytes + "end");
  CHECK(calls.writes > 300);
}

TEST_CASE("of two publishers the first one wins, and the results say so") {
  const test::TempFolder folder;
  auto& calls = util::system_calls();
  CHECK(util::publish_file(calls, folder.path(), folder / "file", {"one"}).value() == util::Published::first);
  CHECK(util::publish_file(calls, folder.path(), folder / "file", {"two"}).value() == util::Published::already_there);
  CHECK(test::contents(folder / "file") == "one");
  CHECK(test::count_files(folder.path()) == 1);
}

TEST_CASE("publishing leaves the complete file or nothing, whichever call fails") {
  test::FaultyCalls counting;
  {
    const test::TempFolder folder;
    REQUIRE(util::publish_file(counting, folder.path(), folder / "file", {"bytes"}));
  }
  REQUIRE(counting.calls >= 6);
  for (const int error : {ENOSPC, EIO, EDQUOT}) {
    for (int i = 0; i < counting.calls; ++i) {
      INFO("call " << i << ", error " << error);
      const test::TempFolder folder;
      test::FaultyCalls calls;
      calls.fail_at = i;
      calls.error = error;
      const auto published = util::publish_file(calls, folder.path(), folder / "file", {"bytes"});
      if (published) CHECK(test::contents(folder / "file") == "bytes");
      CHECK(test::count_files(folder.path()) == (published ? 1 : 0));
    }
  }
}

namespace {

// Removes the first temporary files before they get their name, as a sweeper may.
class SweepingCalls final : public util::SystemCalls {
 public:
  int sweeps = 0;
  int opened = 0;  // temporary files
  int open(const std::string& path, int flags, mode_t mode) override {
    if ((flags & O_CREAT) != 0) staged_ = path, ++opened;
    return SystemCalls::open(path, flags, mode);
  }
  int link(const std::string& from, const std::string& to) override {
    if (sweeps-- > 0) SystemCalls::unlink(staged_);
    return SystemCalls::link(from, to);
  }

 private:
  std::string staged_;
};

}  // namespace

TEST_CASE(
    "a temporary file that a sweeper removed is written once more, and the second time is an error that names it") {
  const test::TempFolder folder;
  fs::create_directory(folder / "tmp");
  SweepingCalls calls;
  calls.sweeps = 1;
  CHECK(util::publish_file(calls, folder / "tmp", folder / "file", {"bytes"}).value() == util::Published::first);
  CHECK(calls.opened == 2);
  calls.sweeps = 2;
  const auto published = util::publish_file(calls, folder / "tmp", folder / "other", {"bytes"});
  REQUIRE_FALSE(published);
  CHECK(published.error().code == ErrorCode::io);
  CHECK(published.error().message.find((folder / "tmp/other.").native()) != std::string::npos);
  CHECK_FALSE(fs::exists(folder / "other"));
}

TEST_CASE("publishing into a folder that no longer exists is an error that names the file") {
  const test::TempFolder folder;
  SweepingCalls calls;
  const auto published = util::publish_file(calls, folder.path(), folder / "gone/file", {"bytes"});
  REQUIRE_FALSE(published);
  CHECK(published.error().code == ErrorCode::io);
  CHECK(published.error().message.find((folder / "gone/file").native()) != std::string::npos);
  CHECK(calls.opened == 1);
  CHECK(test::count_files(folder.path()) == 0);
}

TEST_CASE("a file system without hard links publishes by renaming") {
  const test::TempFolder folder;
  test::FaultyCalls counting;
  REQUIRE(util::publish_file(counting, folder.path(), folder / "counted", {"bytes"}));
  bool renamed = false;
  for (int i = 0; i < counting.calls; ++i) {
    test::FaultyCalls calls;
    calls.fail_at = i;
    calls.error = EOPNOTSUPP;
    const fs::path target = folder / ("file" + std::to_string(i));
    if (!util::publish_file(calls, folder.path(), target, {"bytes"})) continue;
    CHECK(test::contents(target) == "bytes");
    renamed = renamed || calls.calls > counting.calls;
  }
  CHECK(renamed);
}

TEST_CASE("creating a folder that exists succeeds, and a file in its place is an error") {
  const test::TempFolder folder;
  auto& calls = util::system_calls();
  CHECK(util::make_folder(calls, folder / "a", 0700));
  CHECK(util::make_folder(calls, folder / "a", 0700));
  test::write_file(folder / "b", "");
  CHECK_FALSE(util::make_folder(calls, folder / "b", 0700));
  CHECK_FALSE(util::make_folder(calls, folder / "c/d", 0700));
}
