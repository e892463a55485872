#include "util/file_lock.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"
#include "unit/util/temp_folder.hpp"

using namespace cubinet;
using namespace std::chrono_literals;

TEST_CASE("a lock excludes others until it is released, and a waiter gives up in time") {
  const test::TempFolder folder;
  {
    const auto held = util::FileLock::acquire(folder / "lock", 0ms);
    REQUIRE(held.value().has_value());
    const auto start = std::chrono::steady_clock::now();
    CHECK_FALSE(util::FileLock::acquire(folder / "lock", 50ms).value().has_value());
    const auto waited = std::chrono::steady_clock::now() - start;
    CHECK(waited >= 50ms);
    CHECK(waited < 5s);
  }
  CHECK(util::FileLock::acquire(folder / "lock", 0ms).value().has_value());
}

TEST_CASE("the death of its holder releases a lock") {
  const test::TempFolder folder;
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto held = util::FileLock::acquire(folder / "lock", 0ms);
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    while (true) ::pause();
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  CHECK_FALSE(util::FileLock::acquire(folder / "lock", 0ms).value().has_value());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(util::FileLock::acquire(folder / "lock", 5s).value().has_value());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("a lock file that cannot be created is an error, not a wait") {
  const test::TempFolder folder;
  CHECK(util::FileLock::acquire(folder / "none/lock", 10s).error().code == ErrorCode::io);
}

TEST_CASE("a lock is free once its holder releases it, although a forked child lives on") {
  const test::TempFolder folder;
  pid_t child = -1;
  {
    const auto held = util::FileLock::acquire(folder / "lock", 0ms);
    REQUIRE(held.value().has_value());
    child = ::fork();
    if (child == 0) {
      while (true) ::pause();
    }
  }
  CHECK(util::FileLock::acquire(folder / "lock", 0ms).value().has_value());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("a forked child that destroys its copy does not release the lock") {
  const test::TempFolder folder;
  auto held = util::FileLock::acquire(folder / "lock", 0ms);
  REQUIRE(held.value().has_value());
  const pid_t child = ::fork();
  if (child == 0) {
    held.value().reset();
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  CHECK_FALSE(util::FileLock::acquire(folder / "lock", 0ms).value().has_value());
}

TEST_CASE("assignment to a lock releases the lock that it held") {
  const test::TempFolder folder;
  auto first = util::FileLock::acquire(folder / "first", 0ms);
  auto second = util::FileLock::acquire(folder / "second", 0ms);
  REQUIRE((first.value().has_value() && second.value().has_value()));
  **first = std::move(**second);
  CHECK(util::FileLock::acquire(folder / "first", 0ms).value().has_value());
  CHECK_FALSE(util::FileLock::acquire(folder / "second", 0ms).value().has_value());
}

TEST_CASE("the text that a holder writes replaces the content of the file") {
  const test::TempFolder folder;
  test::write_file(folder / "lock", "a longer text than the next");
  auto held = util::FileLock::acquire(folder / "lock", 0ms);
  REQUIRE(held.value().has_value());
  (*held)->write("short");
  CHECK(test::contents(folder / "lock") == "short");
}
