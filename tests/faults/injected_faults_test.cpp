// A writer is killed at, or given an error from, the N-th of each system call that changes something on disk. strace
// counts the calls of all that the writer does, SQLite's among them. It starts with no root, or with one to mend.
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

// What a writer finds.
enum class Before { nothing, damage };

// A root in which entry 0 is damaged, 1 is whole, and something lies about that a repair takes away.
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

// `fault` is strace's, such as "signal=KILL" or "error=EIO".
std::vector<std::string> injected(const fs::path& root, const std::string& calls, const std::string& fault, int when) {
  return test::traced({"-e", "trace=" + calls, "-e", "inject=" + calls + ":" + fault + ":when=" + std::to_string(when)},
                      "/dev/null", writer(root));
}

// Every entry is there whole or not at all, nothing is damaged that was not before, and the root goes on working.
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

// Injects at the first call, the second, and so on until the writer ends unharmed. Returns how many did harm.
template <class Check>
int at_every_call(Before before, const std::string& calls, const std::string& fault, Check check) {
  int harmed = 0;
  // An error that the writer gets over (a failed index row) looks like no harm; a kill does not.
  const int enough = fault == "signal=KILL" ? 1 : 12;
  int unharmed = 0;
  for (int when = 1; unharmed < enough; ++when) {
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
  // strace dies of the signal that its child died of.
  CHECK((outcome.status == 0 || outcome.status == -1));
}

void ends_or_says_why(const Outcome& outcome, const fs::path&) {
  CHECK((outcome.status == 0 || outcome.status == 1));
  if (outcome.status == 1) CHECK(outcome.said.find("cannot ") != std::string::npos);
}

}  // namespace

TEST_CASE("a writer that is killed at any system call leaves whole entries and leftovers, nothing else") {
  if (!test::strace_works()) CUBINET_SKIP("strace cannot trace here");
  for (const char* calls :
       {"openat", "write", "pwrite64", "fsync,fdatasync", "linkat,renameat", "unlinkat", "mkdirat", "ftruncate"}) {
    INFO(calls);
    CHECK(at_every_call(Before::nothing, calls, "signal=KILL", ends_or_is_killed) > 0);
  }
}

TEST_CASE("a writer that is killed at any system call of a repair leaves what the next repair completes") {
  if (!test::strace_works()) CUBINET_SKIP("strace cannot trace here");
  for (const char* calls : {"renameat,linkat", "unlinkat", "fsync,fdatasync", "write", "ftruncate"}) {
    INFO(calls);
    CHECK(at_every_call(Before::damage, calls, "signal=KILL", ends_or_is_killed) > 0);
  }
}

TEST_CASE("a writer whose disk is full or broken says so and stores nothing by halves") {
  if (!test::strace_works()) CUBINET_SKIP("strace cannot trace here");
  for (const char* error : {"error=ENOSPC", "error=EDQUOT", "error=EIO"}) {
    INFO(error);
    CHECK(at_every_call(Before::nothing, "write", error, ends_or_says_why) > 0);
  }
  for (const char* calls : {"fsync,fdatasync", "linkat", "mkdirat"}) {
    INFO(calls);
    CHECK(at_every_call(Before::nothing, calls, "error=EIO", ends_or_says_why) > 0);
  }
  CHECK(at_every_call(Before::nothing, "close", "error=EIO", [](const Outcome& outcome, const fs::path& root) {
          // The first ones are the loader's, which then cannot start the program.
          if (outcome.status != 127) ends_or_says_why(outcome, root);
        }) > 0);
}

TEST_CASE("a writer whose index cannot be written stores every entry") {
  if (!test::strace_works()) CUBINET_SKIP("strace cannot trace here");
  const auto has_all = [](const Outcome&, const fs::path& root) {
    const auto cabinet = Cabinet::open(root, false);
    REQUIRE(cabinet);
    for (int i = 0; i < entries; ++i) CHECK(cabinet->holds(test::key_of(i)));
  };
  // SQLite alone makes these calls. The writer's repair may say that it could not write the index.
  at_every_call(Before::nothing, "pwrite64", "error=ENOSPC", has_all);
  at_every_call(Before::nothing, "pwrite64", "error=EIO", has_all);
  at_every_call(Before::nothing, "ftruncate", "error=EIO", has_all);
}

TEST_CASE("a repair that meets an error is completed by the next one") {
  if (!test::strace_works()) CUBINET_SKIP("strace cannot trace here");
  for (const char* calls : {"renameat,linkat", "unlinkat"}) {
    INFO(calls);
    at_every_call(Before::damage, calls, "error=EIO", ends_or_says_why);
  }
}

TEST_CASE("where no lock can be taken a writer stores everything all the same") {
  if (!test::strace_works()) CUBINET_SKIP("strace cannot trace here");
  const test::TempFolder folder;
  const auto command = test::traced({"-e", "inject=flock:error=ENOLCK"}, "/dev/null", writer(folder / "root"));
  CHECK(test::run(command, folder / "err").status == 0);
  is_sound(folder / "root", Before::nothing);
}

TEST_CASE("on a file system that keeps no locks nobody is waited for, and the root keeps to its limits") {
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
    return survey->index_problem.find("keeps no locks") != std::string::npos ? 0 : 4;
  });
  if (status == no_filter) CUBINET_SKIP("system calls cannot be filtered here");
  CHECK(status == 0);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(4));  // one wait for an index takes 5 s
  CHECK_FALSE(fs::exists(folder / "root/index.db"));
  CHECK(cache::Maintenance::open(folder / "root")->verify(false)->damaged.empty());
}

TEST_CASE("a write that a signal interrupts is taken up again") {
  if (!test::strace_works()) CUBINET_SKIP("strace cannot trace here");
  const test::TempFolder folder;
  const auto command = injected(folder / "root", "write", "error=EINTR", 1);
  CHECK(test::run(command, folder / "err").status == 0);
  is_sound(folder / "root", Before::nothing);
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
  is_sound(folder / "root", Before::nothing);
}
