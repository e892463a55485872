#include "util/parallel.hpp"

#include <array>
#include <atomic>

#include "catch.hpp"

using namespace cubinet;

TEST_CASE("Each index is visited once, whatever the number of threads") {
  for (const int jobs : {-1, 0, 1, 2, 7, 200}) {
    std::array<std::atomic<int>, 50> visits{};
    util::parallel_for(visits.size(), jobs, [&](std::size_t i) { ++visits[i]; });
    for (const auto& count : visits) CHECK(count == 1);
  }
}

TEST_CASE("Nothing is called for an empty loop") {
  int calls = 0;
  util::parallel_for(0, 4, [&](std::size_t) { ++calls; });
  CHECK(calls == 0);
}
