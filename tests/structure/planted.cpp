// Tests that fail or are skipped, for a separate ctest run. Four failed assertions give exit code 4, which is also the
// exit code of Catch2 version 3 for skipped tests.
#include "catch.hpp"

TEST_CASE("fails") {
  for (int i = 0; i < 4; ++i) CHECK(i < 0);
}

TEST_CASE("skips") { CUBINET_SKIP("planted"); }
