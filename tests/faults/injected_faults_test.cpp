// A writer is killed at, or given an error from, the N-th of each system call that changes something on disk. strace
// counts the calls of all that the writer does, SQLite's among them.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "catch.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
using cache::Cabinet;
namespace fs = std::filesystem;

namespace {

constexpr int entries = 3;

// What became of a writer.
struct Outcome {
  int status = 0;  // its exit status, -1 when it was killed
  std::string said;
};

Outcome run(const std::vector<std::string>& command, const fs::path& error_file) {
  const pid_t child = test::start_child([&] {
    const int out = ::open(error_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (out < 0 || ::dup2(out, STDERR_FILENO) < 0) return 97;
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    return 127;
  });
  Outcome outcome;
  outcome.status = test::wait_for(child);
  outcome.said = test::contents(error_file);
  return outcome;
}

std::vector<std::string> writer(const fs::path& root) {
  return {CABINET_WRITER, root.native(), "0", std::to_string(entries)};
}

// `fault` is strace's, such as "signal=KILL" or "error=EIO".
std::vector<std::string> injected(const fs::path& root, const std::string& calls, const std::string& fault, int when) {
  std::vector<std::string> command = {"strace",
                                      "-f",
                                      "-qq",
                                      "-o",
                                      "/dev/null",
                                      "-e",
                                      "trace=" + calls,
                                      "-e",
                                      "inject=" + calls + ":" + fault + ":when=" + std::to_string(when)};
  for (const std::string& word : writer(root)) command.push_back(word);
  return command;
}

bool strace_works() {
  const test::TempFolder folder;
  return run({"strace", "-o", "/dev/null", "-e", "inject=write:error=EIO:when=1000", "true"}, folder / "err").status ==
         0;
}

// Every entry is there whole or not at all, nothing is damaged, and the root goes on working.
void is_sound(const fs::path& root) {
  auto cabinet = Cabinet::open(root, true);
  REQUIRE(cabinet);
  REQUIRE(cabinet->persistence() == cache::Persistence::on);
  const auto found = cabinet->verify(false);
  REQUIRE(found);
  CHECK(found->damaged.empty());
  CHECK(found->leftovers <= 1);
  for (int i = 0; i < entries; ++i) {
    const auto object = cabinet->find(test::key_of(i), test::record_of(i));
    if (object) CHECK(test::equal(*object, test::object_of(i)));
    CHECK(cabinet->publish(test::key_of(i), test::object_of(i)));
  }
  REQUIRE(cabinet->verify(true));
  const auto after = cabinet->verify(false);
  CHECK(after->checked == entries);
  CHECK(after->damaged.empty());
  CHECK(after->orphans == 0);
  CHECK(after->missing == 0);
  CHECK(after->leftovers == 0);
  CHECK(after->index_problem.empty());
  CHECK(cabinet->list()->size() == entries);
  CHECK(cabinet->stats()->quarantined == 0);
}

// Injects at the first call, the second, and so on until the writer ends unharmed. Returns how many did harm.
template <class Check>
int at_every_call(const std::string& calls, const std::string& fault, Check check) {
  int harmed = 0;
  // An error that the writer gets over (a failed index row) looks like no harm; a kill does not.
  const int enough = fault == "signal=KILL" ? 1 : 12;
  int unharmed = 0;
  for (int when = 1; unharmed < enough; ++when) {
    INFO(calls << ":" << fault << ":when=" << when);
    const test::TempFolder folder;
    const Outcome outcome = run(injected(folder / "root", calls, fault, when), folder / "err");
    unharmed = outcome.status == 0 ? unharmed + 1 : 0;
    if (outcome.status != 0) ++harmed;
    check(outcome);
    is_sound(folder / "root");
  }
  return harmed;
}

}  // namespace

TEST_CASE("a writer that is killed at any system call leaves whole entries and leftovers, nothing else") {
  if (!strace_works()) CUBINET_SKIP("strace cannot trace here");
  for (const char* calls : {"openat", "write", "pwrite64", "fsync,fdatasync", "link,rename", "unlink", "mkdir"}) {
    // strace dies of the signal that its child died of.
    const int harmed = at_every_call(
        calls, "signal=KILL", [](const Outcome& outcome) { CHECK((outcome.status == 0 || outcome.status == -1)); });
    INFO(calls);
    CHECK(harmed > 0);
  }
}

TEST_CASE("a writer whose disk is full or broken says so and stores nothing by halves") {
  if (!strace_works()) CUBINET_SKIP("strace cannot trace here");
  const auto says_why = [](const Outcome& outcome) {
    CHECK((outcome.status == 0 || outcome.status == 1));
    if (outcome.status == 1) CHECK(outcome.said.find("cannot ") != std::string::npos);
  };
  CHECK(at_every_call("write", "error=ENOSPC", says_why) > 0);
  CHECK(at_every_call("fsync,fdatasync", "error=EIO", says_why) > 0);
  CHECK(at_every_call("link", "error=EIO", says_why) > 0);
  at_every_call("pwrite64", "error=ENOSPC", says_why);
}

TEST_CASE("a write that a signal interrupts is taken up again") {
  if (!strace_works()) CUBINET_SKIP("strace cannot trace here");
  const test::TempFolder folder;
  const auto command = injected(folder / "root", "write", "error=EINTR", 1);
  CHECK(run(command, folder / "err").status == 0);
  is_sound(folder / "root");
}

TEST_CASE("a limit on the size of files is an error with the system's reason, not a torn file") {
  const test::TempFolder folder;
  const int status = test::in_child([&] {
    const rlimit limit{600, 600};
    ::signal(SIGXFSZ, SIG_IGN);
    auto cabinet = Cabinet::open(folder / "root", true);
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0 || !cabinet) return 1;
    const auto published = cabinet->publish(test::key_of(1), test::object_of(1));
    return !published && published.error().message.find("too large") != std::string::npos ? 0 : 2;
  });
  CHECK(status == 0);
  is_sound(folder / "root");
}
