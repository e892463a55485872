#include "tools/progress_file.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>
#include <new>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "unit/util/failing_memory.hpp"
#include "unit/util/faulty_calls.hpp"
#include "unit/util/temp_folder.hpp"
#include "util/files.hpp"

namespace {

using namespace cubinet;
using namespace cubinet::tools;
namespace fs = std::filesystem;

const RunIdentity run{42, "0123", "node-1", "boot pid:[1]"};

// Writes the file as a heartbeat does.
Expected<void> replace_progress(util::SystemCalls& calls, const fs::path& path, std::string_view text) {
  return util::replace_file(calls, path, {text}, util::Durability::none);
}

ProgressMark mark_of(const RunIdentity& writer, double heartbeat, bool is_final = false) {
  return {writer, is_final, heartbeat};
}

}  // namespace

TEST_CASE("The object has every field, on one line, and null for what is not known yet") {
  ProgressCounts counts;
  counts.done = 3;
  counts.total = 9;
  counts.compiled = 1;
  counts.hits = 1;
  counts.failed = 1;
  counts.seconds = 2;
  counts.current = "gemm";
  counts.current_seconds = 0.5;
  const std::string text = progress_object(counts, ProgressState::compiling, "a\nb", run, 1234567890.25);
  CHECK(text.find('\n') == text.size() - 1);
  const auto object = nlohmann::json::parse(text);
  const nlohmann::json unknown{{"pid", 42},
                               {"run", "0123"},
                               {"host", "node-1"},
                               {"pid_namespace", "boot pid:[1]"},
                               {"state", "compiling"},
                               {"done", 3},
                               {"total", 9},
                               {"compiled", 1},
                               {"hits", 1},
                               {"failed", 1},
                               {"seconds", 2.0},
                               {"rate", nullptr},
                               {"eta_seconds", nullptr},
                               {"heartbeat", 1234567890.25},
                               {"current", "gemm"},
                               {"current_seconds", 0.5},
                               {"message", "a\nb"}};
  CHECK(object == unknown);
  counts.worked = 2;
  const auto known = nlohmann::json::parse(progress_object(counts, ProgressState::executing, "\xff", run, 0));
  CHECK(known.at("rate") == 1.0);
  CHECK(known.at("eta_seconds") == 6.0);
  CHECK(known.at("state") == "executing");
}

TEST_CASE("In a final state eta_seconds is null, and the rate remains") {
  ProgressCounts counts;
  counts.total = 9;
  counts.worked = 4;
  counts.seconds = 2;
  for (const ProgressState state : {ProgressState::done, ProgressState::failed, ProgressState::interrupted}) {
    for (const int done : {4, 9}) {
      counts.done = done;
      const auto object = nlohmann::json::parse(progress_object(counts, state, "", run, 0));
      INFO(object.dump());
      CHECK(object.at("eta_seconds").is_null());
      CHECK(object.at("rate") == 2.0);
    }
  }
}

TEST_CASE("The text is valid JSON for any names and numbers") {
  ProgressCounts counts;
  counts.current = "\"a\\\x01\xe2\x82";
  counts.current_seconds = std::numeric_limits<double>::infinity();
  counts.seconds = 1e-7;
  const auto object = nlohmann::json::parse(progress_object(counts, ProgressState::failed, "\xff\n", run, 1e18));
  CHECK(object.at("current") == "\"a\\\x01\ufffd\ufffd");
  CHECK(object.at("current_seconds").is_null());
  CHECK(object.at("seconds") == 1e-7);
  CHECK(object.at("heartbeat") == 1e18);
  CHECK(object.at("message") == "\ufffd\n");
}

TEST_CASE("Running out of memory while the text is built is an exception and does not end the process") {
  ProgressCounts counts;
  counts.current = "a kernel whose name is too long to be kept without memory of its own";
  const std::string message = "a message that is \"too long\" for that, too\n";
  const int failures = test::failures_for_want_of_memory(
      [&] { static_cast<void>(progress_object(counts, ProgressState::compiling, message, run, 1e9)); });
  CHECK(failures > 3);
}

TEST_CASE("A change is written at most four times a second, and a heartbeat once a second without one") {
  CHECK_FALSE(progress_due(0.2, true));
  CHECK(progress_due(0.25, true));
  CHECK_FALSE(progress_due(0.5, false));
  CHECK(progress_due(0.9, false));
}

TEST_CASE("The file is replaced whole, and nothing is left beside it") {
  const test::TempFolder folder;
  REQUIRE(replace_progress(util::system_calls(), folder / "p", "one"));
  struct stat first {};
  REQUIRE(stat((folder / "p").c_str(), &first) == 0);
  REQUIRE(replace_progress(util::system_calls(), folder / "p", "two"));
  struct stat second {};
  REQUIRE(stat((folder / "p").c_str(), &second) == 0);
  CHECK(test::contents(folder / "p") == "two");
  CHECK((first.st_ino != second.st_ino || first.st_ctime != second.st_ctime ||
         first.st_ctim.tv_nsec != second.st_ctim.tv_nsec));
  CHECK(test::count_files(folder.path()) == 1);
}

TEST_CASE("A reader sees the old text or the new one, whichever system call fails") {
  test::FaultyCalls counting;
  const test::TempFolder folder;
  REQUIRE(replace_progress(counting, folder / "p", "old"));
  REQUIRE(counting.calls == 4);
  for (int i = 0; i < counting.calls; ++i) {
    INFO("call " << i);
    test::FaultyCalls calls;
    calls.fail_at = i;
    const auto replaced = replace_progress(calls, folder / "p", "new");
    REQUIRE_FALSE(replaced);
    CHECK(replaced.error().message.find("No space left") != std::string::npos);
    CHECK(test::contents(folder / "p") == "old");
    CHECK(test::count_files(folder.path()) == 1);
  }
}

TEST_CASE("A short or interrupted write is continued") {
  const test::TempFolder folder;
  test::FaultyCalls calls;
  calls.longest_write = 1;
  calls.interrupt_every = 2;
  REQUIRE(replace_progress(calls, folder / "p", "several"));
  CHECK(test::contents(folder / "p") == "several");
}

TEST_CASE("A folder, a link, a pipe or a device is not replaced") {
  const test::TempFolder folder;
  test::write_file(folder / "precious", "precious");
  fs::create_directory(folder / "folder");
  fs::create_symlink(folder / "precious", folder / "link");
  fs::create_symlink(folder / "absent", folder / "dangling");
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const std::size_t before = test::count_files(folder.path());
  for (const fs::path& path : {folder / "folder", folder / "link", folder / "dangling", folder / "pipe",
                               fs::path("/dev/null"), folder / "folder/"}) {
    INFO(path);
    const auto replaced = replace_progress(util::system_calls(), path, "new");
    REQUIRE_FALSE(replaced);
    CHECK(replaced.error().code == ErrorCode::invalid_argument);
    CHECK(replaced.error().message.find(path.native()) != std::string::npos);
  }
  CHECK(test::contents(folder / "precious") == "precious");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(fs::is_character_file("/dev/null"));
  CHECK_FALSE(fs::exists(folder / "absent"));
  CHECK(test::count_files(folder.path()) == before);
}

TEST_CASE("A folder that is not there is an error that names it") {
  const test::TempFolder folder;
  const auto replaced = replace_progress(util::system_calls(), folder / "absent/p", "text");
  REQUIRE_FALSE(replaced);
  CHECK(replaced.error().message.find((folder / "absent/p").native() + ": No such") != std::string::npos);
}

TEST_CASE("A progress file is parsed with any host name") {
  const test::TempFolder folder;
  for (const char* host : {"node-1", "", "a\"b\\", "\"heartbeat\":1,\"run\":\"x\""}) {
    const RunIdentity writer{7, "abcd", host, "boot pid:[2]"};
    test::write_file(folder / "p", progress_object({}, ProgressState::executing, "\"run\":\"y\"", writer, 1e9));
    const auto mark = read_progress(folder / "p");
    REQUIRE(mark);
    REQUIRE(*mark);
    CHECK((*mark)->run.process == 7);
    CHECK((*mark)->run.run == "abcd");
    CHECK((*mark)->run.pid_namespace == "boot pid:[2]");
    CHECK((*mark)->heartbeat == 1e9);
    CHECK_FALSE((*mark)->is_final);
  }
}

TEST_CASE("The file of another run with the same process number belongs to that run") {
  CHECK_FALSE(kept_by_another(mark_of(run, 1e9), run, 1e9));
  RunIdentity same_number = run;  // process 42 in another container
  same_number.run = "4567";
  same_number.pid_namespace = "boot pid:[9]";
  CHECK(kept_by_another(mark_of(same_number, 1e9), run, 1e9 + 9));
}

TEST_CASE("Only heartbeat and state show that a run in another container, or of an earlier build, has ended") {
  const std::int64_t alive = getpid();
  const std::int64_t gone = std::numeric_limits<std::int32_t>::max();
  for (const char* where : {"boot pid:[9]", "another boot pid:[1]", ""}) {
    for (const std::int64_t process : {alive, gone, run.process}) {
      const RunIdentity other{process, where[0] == '\0' ? "" : "4567", "node-2", where};
      INFO(where << ", process " << process);
      CHECK(kept_by_another(mark_of(other, 1e9), run, 1e9 + 9));
      CHECK_FALSE(kept_by_another(mark_of(other, 1e9), run, 1e9 + 10));
      CHECK_FALSE(kept_by_another(mark_of(other, 1e9, true), run, 1e9));
    }
  }
}

TEST_CASE("A run in our namespace whose process no longer exists has ended, even with a recent heartbeat") {
  const RunIdentity own{getpid(), "0123", "node-1", "boot pid:[1]"};
  const auto kept = [&](std::int64_t process) {
    return kept_by_another(mark_of({process, "4567", "node-1", own.pid_namespace}, 1e9), own, 1e9);
  };
  CHECK(kept(getppid()));
  CHECK_FALSE(kept(std::numeric_limits<std::int32_t>::max()));
  CHECK_FALSE(kept(own.process));  // this process has that number now
}

TEST_CASE("Each run has its own identity, and a child made by fork is another run") {
  const RunIdentity own = this_run();
  CHECK(own.process == getpid());
  CHECK(own.run.size() == 32);
  CHECK(this_run().run == own.run);
  CHECK(own.pid_namespace.find("pid:[") != std::string::npos);
  const pid_t child = fork();
  if (child == 0) _exit(this_run().run != own.run && this_run().process == getpid() ? 0 : 1);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("A file is removed even if no descriptor is left for the folders of its path") {
#ifdef CUBINET_ADDRESS_SANITIZER
  CUBINET_SKIP("the sanitizer needs a descriptor to look at an object's type");
#endif
  const test::TempFolder folder;
  test::write_file(folder / "p", "text");
  struct rlimit before {};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{0, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  remove_progress(util::system_calls(), folder / "p");
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK_FALSE(fs::exists(folder / "p"));
}
