// An index that another process holds is busy, not damaged: the objects are used, and the rows are not judged.
#include "catch.hpp"
#include "unit/cache/index_holder.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

constexpr auto patience = std::chrono::milliseconds(50);

// A root of three entries, the first one with a hit.
struct Busy : test::Filled {
  Busy() : Filled(3, {.index_patience = patience}) { cabinet.record_hits({test::key_of(0)}); }
};

bool says_busy(const std::string& problem) { return problem.find("is busy") != std::string::npos; }

}  // namespace

TEST_CASE("while the index is busy, verify reports a sound root as sound and the index as not compared") {
  Busy root;
  const test::IndexHolder holder(root.layout.index());
  for (const bool repair : {false, true}) {
    const auto report = root.maintenance().verify(repair);
    REQUIRE(report);
    CHECK(report->checked == 3);
    CHECK(report->damaged.empty());
    CHECK(report->orphans == 0);
    CHECK(report->missing == 0);
    CHECK(report->index_busy);
    CHECK(says_busy(report->index_problem));
  }
}

TEST_CASE("after one wait in vain for the index a cabinet does not wait again, and uses the index once it is free") {
  constexpr auto long_patience = std::chrono::milliseconds(1000);
  test::Filled root(1, {.index_patience = long_patience});
  {
    const test::IndexHolder holder(root.layout.index());
    const auto begin = std::chrono::steady_clock::now();
    CHECK_FALSE(root.maintenance().coverage());
    CHECK_FALSE(root.maintenance().record_coverage("{}", {}));
    root.cabinet.record_hits({test::key_of(0)});
    CHECK(root.cabinet.publish(test::key_of(1), test::object_of(1)));
    CHECK(says_busy(root.maintenance().survey()->index_problem));
    CHECK(root.maintenance().verify(false)->index_busy);
    const auto waited = std::chrono::steady_clock::now() - begin;
    CHECK(waited >= long_patience);
    CHECK(waited < 2 * long_patience);
  }
  CHECK(root.maintenance().record_coverage("{}", {}));
  CHECK(root.maintenance().survey()->index_problem.empty());
}

TEST_CASE("while the index is busy, a repair moves damaged objects to quarantine, and the next one does the rest") {
  Busy root;
  test::write_file(root.layout.object(test::key_of(1)), "damaged");
  {
    const test::IndexHolder holder(root.layout.index());
    const auto report = root.maintenance().verify(true);
    REQUIRE(report);
    CHECK(report->damaged == std::vector<std::string>{test::key_of(1).hex()});
    CHECK(report->not_moved == 0);
    CHECK(report->index_busy);
  }
  CHECK_FALSE(fs::exists(root.layout.object(test::key_of(1))));
  CHECK(root.maintenance().verify(true)->missing == 1);
  CHECK(root.maintenance().verify(false)->missing == 0);
}

TEST_CASE("listing and statistics report that the index was busy, and no hits are lost") {
  Busy root;
  {
    const test::IndexHolder holder(root.layout.index());
    CHECK(root.maintenance().survey()->entries.size() == 3);
    CHECK(says_busy(root.maintenance().survey()->index_problem));
    CHECK(root.maintenance().stats()->entries == 3);
    CHECK(says_busy(root.maintenance().stats()->index_problem));
  }
  CHECK(root.maintenance().survey()->index_problem.empty());
  CHECK(root.maintenance().stats()->index_problem.empty());
  CHECK(root.maintenance().stats()->hits == 1);
  CHECK_FALSE(root.maintenance().verify(false)->index_busy);
}

TEST_CASE("while the index is busy, a removal removes the object and reports the row, which the next listing drops") {
  Busy root;
  {
    const test::IndexHolder holder(root.layout.index());
    const auto removed = root.maintenance().remove(test::key_of(0));
    REQUIRE(removed);
    CHECK(says_busy(removed->index_problem));
    const auto again = root.maintenance().remove(test::key_of(0));
    REQUIRE_FALSE(again);
    CHECK(again.error().code == ErrorCode::io);
  }
  CHECK_FALSE(fs::exists(root.layout.object(test::key_of(0))));
  CHECK(root.maintenance().verify(false)->missing == 1);
  CHECK(test::entries_of(root.cabinet)->size() == 2);
  CHECK(root.maintenance().verify(false)->missing == 0);
  CHECK(root.maintenance().remove(test::key_of(1))->index_problem.empty());
}
