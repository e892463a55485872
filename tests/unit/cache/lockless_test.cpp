// File systems without locks: this is reported at once as the reason, and the root stays within its limits.
#include <cerrno>

#include "catch.hpp"
#include "unit/cache/set_clock.hpp"
#include "unit/cache/support.hpp"
#include "util/clock.hpp"

using namespace cubinet;
using cache::Cabinet;
namespace fs = std::filesystem;

namespace {

class Lockless final : public util::SystemCalls {
 public:
  explicit Lockless(int reason) : reason_(reason) {}
  int try_record_lock(int /*file*/) override {
    errno = reason_;
    return -1;
  }

 private:
  int reason_;
};

class Linkless final : public util::SystemCalls {
 public:
  explicit Linkless(int reason) : reason_(reason) {}
  int link(const std::string& /*from*/, const std::string& /*to*/) override {
    errno = reason_;
    return -1;
  }

 private:
  int reason_;
};

}  // namespace

TEST_CASE("without locks the index is not used, without a wait and with the right reason, and all else works") {
  for (const int reason : {ENOLCK, ENOSYS, EOPNOTSUPP}) {
    Lockless calls(reason);
    const util::Moment begin = util::now();
    test::Filled root(2, {.calls = calls});
    root.cabinet.record_hits({test::key_of(0)});
    CHECK(test::hit(root.cabinet, 0));
    const auto survey = root.maintenance().survey();
    REQUIRE(survey);
    CHECK(survey->entries.size() == 2);
    CHECK(survey->index_problem.find("has no locks") != std::string::npos);
    CHECK(survey->index_problem.find("another process") == std::string::npos);
    CHECK(root.maintenance().verify(true)->index_unused);
    CHECK_FALSE(fs::exists(root.layout.index()));
    CHECK(fs::is_empty(root.layout.quarantine()));
    CHECK(util::seconds_since(begin) < 3);
  }
}

TEST_CASE("without locks verify reports no problem and no missing index") {
  Lockless calls(ENOLCK);
  test::Filled root(2, {.calls = calls});
  const auto report = root.maintenance().verify(false);
  REQUIRE(report);
  CHECK(report->index_unused);
  CHECK(report->orphans == 0);
  CHECK(report->index_problem.find("has no locks") != std::string::npos);
}

TEST_CASE("without locks evicted keys are unknown, and a collection reports no index problem") {
  Lockless calls(ENOLCK);
  test::Filled root(3, {.calls = calls});
  const auto collected = root.maintenance().collect({.bytes = 0, .entries = 1, .age = 0}, false);
  REQUIRE(collected);
  CHECK(collected->decision.evictions.size() == 2);
  CHECK(collected->index_problem.empty());
  CHECK(root.maintenance().remove(test::key_of(2))->index_problem.empty());
  CHECK_FALSE(root.maintenance().evicted());
}

TEST_CASE("without locks a write keeps the root within its limits, and the oldest entries are evicted first") {
  Lockless calls(ENOLCK);
  test::Filled root(0, {.calls = calls, .limits = {.bytes = 0, .entries = 5, .age = 0}});
  for (int i = 0; i < 9; ++i) REQUIRE(root.cabinet.publish(test::key_of(i), test::object_of(i)));
  CHECK(test::entries_of(root.cabinet)->size() <= 5);
  CHECK(test::hit(root.cabinet, 8));
  CHECK_FALSE(test::hit(root.cabinet, 0));
  REQUIRE(root.maintenance().pin(test::key_of(7)));
  CHECK(root.maintenance().collect({.bytes = 0, .entries = 1, .age = 0}, false)->decision.entries_left == 1);
  CHECK(test::hit(root.cabinet, 7));
}

TEST_CASE("an entry is stored by a rename if hard links fail with any error that file systems give") {
  for (const int reason : {EPERM, EOPNOTSUPP, ENOSYS, EACCES, EMLINK, EXDEV}) {
    INFO(reason);
    Linkless calls(reason);
    test::Filled root(1, {.calls = calls});
    CHECK(test::hit(root.cabinet, 0));
    CHECK(fs::is_empty(root.layout.tmp()));
  }
}
