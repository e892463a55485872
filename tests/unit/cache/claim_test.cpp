// Claims: at most one process or thread at a time has the right to compile a key, if the root can be locked.
#include "cache/claim.hpp"

#include <signal.h>

#include <thread>

#include "catch.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
using cache::Claim;
namespace fs = std::filesystem;

namespace {

bool neither(const Claim& claim) { return !claim.mine() && !claim.taken(); }

// A process that holds the claim of entry 0 until it is killed.
struct Holder {
  explicit Holder(cache::Cabinet& cabinet) {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    process = test::start_child([&] {
      const Claim claim = cabinet.claim(test::key_of(0));
      if (!claim.mine() || ::write(ready[1], "x", 1) != 1) return 1;
      while (true) ::pause();
    });
    ::close(ready[1]);
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    ::close(ready[0]);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() { kill(); }
  void kill() {
    if (process < 0) return;
    ::kill(process, SIGKILL);
    test::wait_for(process);
    process = -1;
  }
  pid_t process = -1;
};

}  // namespace

TEST_CASE("a key has one claim at a time, also within one process, and it ends with its holder") {
  test::Filled root(0);
  {
    const Claim first = root.cabinet.claim(test::key_of(0));
    CHECK(first.mine());
    CHECK_FALSE(first.taken());
    const Claim second = root.cabinet.claim(test::key_of(0));
    CHECK_FALSE(second.mine());
    CHECK(second.taken());
    CHECK(second.holder() == ::getpid());
    bool elsewhere = true;
    std::thread([&] { elsewhere = root.cabinet.claim(test::key_of(0)).mine(); }).join();
    CHECK_FALSE(elsewhere);
  }
  CHECK(root.cabinet.claim(test::key_of(0)).mine());
}

TEST_CASE("keys that begin with the same two digits share a claim, others do not") {
  test::Filled root(0);
  cache::Key a = test::key_of(0);
  cache::Key b = a;
  b.bytes[31] ^= 1;
  cache::Key c = a;
  c.bytes[0] ^= 1;
  const Claim held = root.cabinet.claim(a);
  CHECK(root.cabinet.claim(b).taken());
  CHECK(root.cabinet.claim(c).mine());
  for (int i = 0; i < 256; ++i) {
    c.bytes[0] = static_cast<std::uint8_t>(i);
    static_cast<void>(root.cabinet.claim(c));
  }
  CHECK(test::count_files(root.layout.locks()) == 256);
}

TEST_CASE("a taken claim gives its holder's process id, and is free once that process is killed") {
  test::Filled root(0);
  Holder holder(root.cabinet);
  const Claim taken = root.cabinet.claim(test::key_of(0));
  CHECK(taken.taken());
  CHECK(taken.holder() == holder.process);
  holder.kill();
  CHECK(root.cabinet.claim(test::key_of(0)).mine());
}

TEST_CASE("a locked claim file without a process id is taken by an unknown holder") {
  test::Filled root(0);
  const Claim held = root.cabinet.claim(test::key_of(0));
  REQUIRE(held.mine());
  for (const char* text : {"", "12", "x\n", "-5\n", "12 \n", "99999999999999999999\n", "\n"}) {
    test::write_file(root.layout.claim(test::key_of(0)), text);
    CHECK(root.cabinet.claim(test::key_of(0)).holder() == 0);
  }
  test::write_file(root.layout.claim(test::key_of(0)), std::string(100'000, '1') + "\n");
  CHECK(root.cabinet.claim(test::key_of(0)).holder() == 0);
}

TEST_CASE("with damaged lock files a claim is neither held nor taken") {
  test::Filled root(0);
  const fs::path lock = root.layout.claim(test::key_of(0));
  fs::create_directories(lock / "inside");
  CHECK(neither(root.cabinet.claim(test::key_of(0))));
  fs::remove_all(lock);
  const fs::path elsewhere = root.folder / "elsewhere";
  test::write_file(elsewhere, "keep me");
  fs::create_symlink(elsewhere, lock);
  CHECK(neither(root.cabinet.claim(test::key_of(0))));
  CHECK(test::contents(elsewhere) == "keep me");
  fs::remove_all(root.layout.locks());
  CHECK(neither(root.cabinet.claim(test::key_of(0))));
  test::write_file(root.layout.locks(), "in the way");
  CHECK(neither(root.cabinet.claim(test::key_of(0))));
}

TEST_CASE("a read-only cabinet gives no claims and creates no lock file") {
  test::Filled root(0);
  const auto stack = cache::Cabinet::open_stack({}, false, {root.layout.root});
  REQUIRE(stack);
  CHECK(neither(stack->cabinet.claim(test::key_of(0))));
  CHECK(fs::is_empty(root.layout.locks()));
}
