// Kills a writer at the N-th call of each system call that changes something on disk, or makes that call fail. strace
// counts all calls of the writer, including SQLite's. The writer starts without a root or with one that needs a repair.
#include <signal.h>
#include <sys/resource.h>

#include <chrono>

#include "catch.hpp"
#include "faults/refused_locks.hpp"
#include "faults/traced.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
using cache::Cabinet;
namespace fs = std::filesystem;

namespace {

constexpr int entries = 3;
constexpr int no_filter = 90;

using test::Outcome;

// The root that a writer starts with: none, or a damaged one.
enum class Before { nothing, damage };

// Creates a root in which entry 0 is damaged and entry 1 is sound, with leftovers that a repair removes.
void prepare(const fs::path& root, Before before) {
  if (before == Before::nothing) return;
  auto cabinet = Cabinet::open(root, true);
  REQUIRE(cabinet);
  for (int number : {0, 1}) REQUIRE(cabinet->publish(test::key_of(number), test::object_of(number)));
  const cache::Layout layout{root};
  test::write_file(layout.object(test::key_of(0)), "damaged");
  test::write_file(layout.objects() / "stranger", "?");
  test::write_file(layout.tmp() / "leftover", "half");
  test::write_file(layout.index(), "noise");
}

std::vector<std::string> writer(const fs::path& root) {
  return {CABINET_WRITER, root.native(), "0", std::to_string(entries)};
}

// The strace command that injects `fault`, such as "signal=KILL" or "error=EIO", at call number `when` of `calls`.
std::vector<std::string> injected(const fs::path& root, const std::string& calls, const std::string& fault, int when) {
  return test::traced({"-e", "trace=" + calls, "-e", "inject=" + calls + ":" + fault + ":when=" + std::to_string(when)},
                      "/dev/null", writer(root));
}

// Checks that every entry is sound or missing, that nothing else is damaged than before, and that the root is usable.
void is_sound(const fs::path& root, Before before) {
  auto cabinet = Cabinet::open(root, true);
  REQUIRE(cabinet);
  REQUIRE(cabinet->persistence() == cache::Persistence::on);
  const auto found = cache::Maintenance(*cabinet).verify(false);
  REQUIRE(found);
  CHECK(found->damaged.size() <= (before == Before::damage ? 2 : 0));
  CHECK(found->leftovers <= (before == Before::damage ? 2 : 1));
  for (int i = 0; i < entries; ++i) {
    const auto object = cabinet->find(test::key_of(i), test::record_of(i));
    if (object) CHECK(test::equal(*object, test::object_of(i)));
    CHECK(cabinet->publish(test::key_of(i), test::object_of(i)));
  }
  REQUIRE(cache::Maintenance(*cabinet).verify(true));
  const auto after = cache::Maintenance(*cabinet).verify(false);
  CHECK(after->checked == entries);
  CHECK(after->damaged.empty());
  CHECK(after->orphans == 0);
  CHECK(after->missing == 0);
  CHECK(after->leftovers == 0);
  CHECK(after->index_problem.empty());
  CHECK(test::entries_of(*cabinet)->size() == entries);
  CHECK(cache::Maintenance(*cabinet).stats()->quarantined == (before == Before::damage ? 2 : 0));
}

// Injects the fault at the first call, the second, and so on, until the writer succeeds. Returns how often it failed.
// An instrumented writer is killed at every fifth call.
template <class Check>
int at_every_call(Before before, const std::string& calls, const std::string& fault, Check check) {
  int harmed = 0;
  // A writer can succeed in spite of an injected error, such as a failed index row; a killed writer cannot.
  const bool kills = fault == "signal=KILL";
  const int enough = kills ? 1 : 12;
  const int step = kills && test::instrumented ? 5 : 1;
  int unharmed = 0;
  for (int when = 1; unharmed < enough; when += step) {
    INFO(calls << ":" << fault << ":when=" << when);
    const test::TempFolder folder(test::memory_place());
    prepare(folder / "root", before);
    const Outcome outcome = test::run(injected(folder / "root", calls, fault, when), folder / "err");
    unharmed = outcome.status == 0 ? unharmed + 1 : 0;
    if (outcome.status != 0) ++harmed;
    check(outcome, folder / "root");
    is_sound(folder / "root", before);
  }
  return harmed;
}

void ends_or_is_killed(const Outcome& outcome, const fs::path&) {
  // strace ends with the signal that ended its child.
  CHECK((outcome.status == 0 || outcome.status == -1));
}

void ends_or_says_why(const Outcome& outcome, const fs::path&) {
  CHECK((outcome.status == 0 || outcome.status == 1));
  if (outcome.status == 1) CHECK(outcome.said.find("cannot ") != std::string::npos);
}

}  // namespace

TEST_CASE("a writer killed at any system call leaves only whole entries and leftovers") {
  if (!test::strace_works()) CUBINET_SKIP("strace cannot trace here");
  for (const char* calls :
       {"openat", "write", "pwrite64", "fsync,fdatasync", "linkat,renameat", "unlinkat", "mkdirat", "ftruncate"}) {
    INFO(calls);
    CHECK(at_every_call(Before::nothing, calls, "signal=KILL", ends_or_is_killed) > 0);
  }
}

TEST_CASE("a repair killed at any system call is completed by the next repair") {
  if (!test::strace_works()) CUBINET_SKIP("strace cannot trace here");
  for (const char* calls : {"renameat,linkat", "unlinkat", "fsync,fdatasync", "write", "ftruncate"}) {
    INFO(calls);
    CHECK(at_every_call(Before::damage, calls, "signal=KILL", ends_or_is_killed) > 0);
  }
}

TEST_CASE("a writer on a full or failing disk reports the error and stores no partial entries") {
  if (!test::strace_works()) CUBINET_SKIP("strace cannot trace here");
#ifndef CUBINET_ADDRESS_SANITIZER  // it writes to a pipe itself, to find out whether memory can be read
  for (const char* error : {"error=ENOSPC", "error=EDQUOT", "error=EIO"}) {
    INFO(error);
    CHECK(at_every_call(Before::nothing, "write", error, ends_or_says_why) > 0);
  }
#endif
  for (const char* calls : {"fsync,fdatasync", "linkat", "mkdirat"}) {
    INFO(calls);
    CHECK(at_every_call(Before::nothing, calls, "error=EIO", ends_or_says_why) > 0);
  }
  CHECK(at_every_call(Before::nothing, "close", "error=EIO", [](const Outcome& outcome, const fs::path& root) {
          // The dynamic loader makes the first calls; if one fails, the program does not start.
          if (outcome.status != 127) ends_or_says_why(outcome, root);
        }) > 0);
}

TEST_CASE("a writer that cannot write the index stores every entry") {
  if (!test::strace_works()) CUBINET_SKIP("strace cannot trace here");
  const auto has_all = [](const Outcome&, const fs::path& root) {
    const auto cabinet = Cabinet::open(root, false);
    REQUIRE(cabinet);
    for (int i = 0; i < entries; ++i) CHECK(cabinet->holds(test::key_of(i)));
  };
  // Only SQLite makes these calls. The writer's repair may report that it could not write the index.
  at_every_call(Before::nothing, "pwrite64", "error=ENOSPC", has_all);
  at_every_call(Before::nothing, "pwrite64", "error=EIO", has_all);
  at_every_call(Before::nothing, "ftruncate", "error=EIO", has_all);
}

TEST_CASE("a repair that fails with an error is completed by the next repair") {
  if (!test::strace_works()) CUBINET_SKIP("strace cannot trace here");
  for (const char* calls : {"renameat,linkat", "unlinkat"}) {
    INFO(calls);
    at_every_call(Before::damage, calls, "error=EIO", ends_or_says_why);
  }
}

TEST_CASE("a writer that cannot take any lock stores every entry") {
  if (!test::strace_works()) CUBINET_SKIP("strace cannot trace here");
  const test::TempFolder folder;
  const auto command = test::traced({"-e", "inject=flock:error=ENOLCK"}, "/dev/null", writer(folder / "root"));
  CHECK(test::run(command, folder / "err").status == 0);
  is_sound(folder / "root", Before::nothing);
}

TEST_CASE("on a file system without locks a writer does not wait, and the root stays within its limits") {
  const test::TempFolder folder;
  const auto begin = std::chrono::steady_clock::now();
  const int status = test::in_child([&] {
    if (!test::refuse_locks()) return no_filter;
    auto cabinet = Cabinet::open(folder / "root", true, {.limits = {.bytes = 0, .entries = 4, .age = 0}});
    for (int number = 0; cabinet && number < 9; ++number) {
      if (!cabinet->publish(test::key_of(number), test::object_of(number))) return 1;
    }
    if (!cabinet || !test::hit(*cabinet, 8)) return 2;
    const auto survey = cache::Maintenance(*cabinet).survey();
    if (!survey || survey->entries.size() > 4) return 3;
    return survey->index_problem.find("has no locks") != std::string::npos ? 0 : 4;
  });
  if (status == no_filter) CUBINET_SKIP("system calls cannot be filtered here");
  CHECK(status == 0);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(4));  // one wait for an index takes 5 s
  CHECK_FALSE(fs::exists(folder / "root/index.db"));
  CHECK(cache::Maintenance::open(folder / "root")->verify(false)->damaged.empty());
}

TEST_CASE("a write that a signal interrupts is resumed") {
  if (!test::strace_works()) CUBINET_SKIP("strace cannot trace here");
  const test::TempFolder folder;
  const auto command = injected(folder / "root", "write", "error=EINTR", 1);
  CHECK(test::run(command, folder / "err").status == 0);
  is_sound(folder / "root", Before::nothing);
}

TEST_CASE("exceeding the file size limit is an error with the system's reason and leaves no partial file") {
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
  is_sound(folder / "root", Before::nothing);
}
