#include "util/ticker.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>

#include "catch.hpp"

using namespace cubinet;
using namespace std::chrono_literals;

namespace {

// Whether `count` reaches `wanted` before patience ends.
bool reaches(const std::atomic<int>& count, int wanted) {
  for (int i = 0; i < 10'000 && count < wanted; ++i) std::this_thread::sleep_for(1ms);
  return count >= wanted;
}

}  // namespace

TEST_CASE("A ticker calls again and again, also after a call that threw, and never once it is gone") {
  std::atomic<int> calls{0};
  {
    const util::Ticker ticker(1ms, [&] {
      if (++calls == 2) throw std::runtime_error("trouble");
    });
    CHECK(reaches(calls, 5));
  }
  const int at_end = calls;
  std::this_thread::sleep_for(20ms);
  CHECK(calls == at_end);
}

TEST_CASE("A ticker ends at once in the middle of a long period, without a call") {
  std::atomic<int> calls{0};
  const auto begin = std::chrono::steady_clock::now();
  {
    const util::Ticker ticker(1h, [&] { ++calls; });
  }
  CHECK(std::chrono::steady_clock::now() - begin < 60s);
  CHECK(calls == 0);
}
