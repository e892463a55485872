// A disk that is full or broken: every call that changes something fails in its turn.
#include "catch.hpp"
#include "unit/cache/support.hpp"
#include "unit/util/faulty_calls.hpp"

using namespace cubinet;
using cache::Cabinet;
namespace fs = std::filesystem;

TEST_CASE("publishing on a failing disk stores a whole entry or is an error with the reason, and leaves nothing else") {
  test::FaultyCalls counting;
  {
    test::Filled root(0, {.calls = counting});
    counting.calls = 0;
    REQUIRE(root.cabinet.publish(test::key_of(1), test::object_of(1)));
  }
  REQUIRE(counting.calls >= 10);
  int errors = 0;
  for (const int error : {ENOSPC, EIO}) {
    for (int i = 0; i < counting.calls; ++i) {
      INFO("call " << i << ", error " << error);
      test::FaultyCalls calls;
      test::Filled root(1, {.calls = calls});
      calls.error = error;
      calls.calls = 0;
      calls.fail_at = i;
      const auto published = root.cabinet.publish(test::key_of(1), test::object_of(1));
      calls.fail_at = -1;
      if (!published) {
        ++errors;
        CHECK(published.error().code == (error == ENOSPC ? ErrorCode::no_room : ErrorCode::io));
        CHECK(published.error().message.find("cannot ") != std::string::npos);
      }
      const auto object = root.cabinet.find(test::key_of(1), test::record_of(1));
      CHECK(object.has_value() == published.has_value());
      if (object) CHECK(test::equal(*object, test::object_of(1)));
      CHECK(fs::is_empty(root.layout.tmp()));
      CHECK(fs::is_empty(root.layout.quarantine()));
      CHECK(root.maintenance().verify(false)->damaged.empty());
      CHECK(test::entries_of(root.cabinet)->size() == (published ? 2 : 1));
    }
  }
  CHECK(errors >= 8);
}

TEST_CASE("a root whose creation failed on a faulty disk is completed by a later attempt") {
  test::FaultyCalls counting;
  {
    const test::TempFolder folder;
    REQUIRE(Cabinet::open(folder / "root", true, {.calls = counting}));
  }
  for (int i = 0; i < counting.calls; ++i) {
    INFO("call " << i);
    const test::TempFolder folder;
    test::FaultyCalls calls;
    calls.fail_at = i;
    const auto first = Cabinet::open(folder / "root", true, {.calls = calls});
    if (!first) CHECK(first.error().code == ErrorCode::cache_unusable);
    auto second = Cabinet::open(folder / "root", true);
    REQUIRE(second);
    CHECK(second->persistence() == cache::Persistence::on);
    CHECK(second->publish(test::key_of(1), test::object_of(1)));
    CHECK(second->find(test::key_of(1), test::record_of(1)));
  }
}
